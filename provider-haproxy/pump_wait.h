// SPDX-License-Identifier: Apache-2.0
/* What has to wait for something else before HAProxy is told of it. No I/O. */
#pragma once

#include "provider-haproxy/engine_state.h"

/* Whether HAProxy has the slot. */
bool pump_is_live(const struct engine *engine, const struct slot *slot);
/* A row must wait while its target does not exist, and that of a policy while its lists or its users do not. */
bool pump_has_to_wait(struct engine *engine, const struct row *row);

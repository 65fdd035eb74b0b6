// SPDX-License-Identifier: Apache-2.0
/* Reading back what HAProxy has. */
#pragma once

#include "provider-haproxy/engine_state.h"

/* Reads what HAProxy has; ends in READY. */
void sync_begin(struct engine *engine);

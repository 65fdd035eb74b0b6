// SPDX-License-Identifier: Apache-2.0
/* Commands for what differs between what is wanted and what HAProxy has. */
#pragma once

#include "provider-haproxy/engine_state.h"

void pump_run(struct engine *engine);
/* HAProxy has all that is wanted. */
bool pump_is_done(const struct engine *engine);
/* Nothing is left to do in HAProxy, either: what is no longer wanted is gone. */
bool pump_is_idle(const struct engine *engine);
struct pump *pump_new(struct engine *engine);
void pump_free(struct pump *pump);

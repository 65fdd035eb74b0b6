// SPDX-License-Identifier: Apache-2.0
/* What reading its files has left of HAProxy's memory, 5 % of all, is given back: once a worker, a second after it has nothing else to do. */
#pragma once

#include "provider-haproxy/engine_state.h"

struct pump_trim;

struct pump_trim *pump_trim_new(struct engine *engine);
void pump_trim_free(struct pump_trim *trim);
/* Whenever nothing differs. */
void pump_trim_later(struct pump_trim *trim);

// SPDX-License-Identifier: Apache-2.0
/* Slots that no pool has needed for --slots-idle are given back: with the next reload, or, when they are many, with one of their own. */
#pragma once

#include "provider-haproxy/engine_state.h"

struct idle *idle_new(struct engine *engine);
void idle_free(struct idle *idle);

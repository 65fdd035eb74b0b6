// SPDX-License-Identifier: Apache-2.0
/* Whether HAProxy answers. */
#pragma once

#include "provider-haproxy/engine_state.h"

void liveness_init(struct engine *engine);

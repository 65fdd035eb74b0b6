// SPDX-License-Identifier: Apache-2.0
/* Changes that need a start or a reload of HAProxy. */
#pragma once

#include "provider-haproxy/engine_state.h"

bool change_is_needed(const struct engine *engine);
/* Whether what is needed may begin now: reloads have their pace. Comes back when it may. */
bool change_may_begin(struct engine *engine);
void change_begin(struct engine *engine);
/* The new worker has come, or has not: `worker` answers. */
void change_on_worker(struct engine *engine, long worker);
void change_free(struct engine *engine);
void change_init(struct engine *engine);

// SPDX-License-Identifier: Apache-2.0
/* Changes that need a start or a reload of HAProxy. */
#pragma once

#include "provider-haproxy/engine_state.h"

bool change_is_needed(const struct engine *engine);
/* Whether the change may begin now: reloads are rate-limited. If not, the engine is woken when it may. */
bool change_may_begin(struct engine *engine);
void change_begin(struct engine *engine);
/* HAProxy has answered: it can read its files. */
void change_on_answer(struct engine *engine);
/* The change has ended: `worker` is the new worker that answers; 0: none came. */
void change_on_worker(struct engine *engine, long worker);
/* A check or a reload is in progress. */
bool change_is_under_way(const struct engine *engine);
bool change_is_reloading(const struct engine *engine);
/* A failed change will be retried later, or a reload waits for its time. */
bool change_is_waiting(const struct engine *engine);
struct change *change_new(struct engine *engine);
void change_free(struct change *change);

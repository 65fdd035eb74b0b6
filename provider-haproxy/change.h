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
/* The check, or the reload. */
bool change_is_under_way(const struct engine *engine);
bool change_is_reloading(const struct engine *engine);
/* One that has failed is tried again later; or a reload has its time. */
bool change_is_waiting(const struct engine *engine);
struct change *change_new(struct engine *engine);
void change_free(struct change *change);

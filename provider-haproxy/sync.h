// SPDX-License-Identifier: Apache-2.0
/* Connecting to HAProxy, and reading back what it has. */
#pragma once

#include "provider-haproxy/engine_state.h"

void sync_connect(struct engine *engine);
void sync_disconnect(struct engine *engine, const char *why);
/* HAProxy is not as was thought: everything is read back. */
void sync_again(struct engine *engine);
/* Reads what HAProxy has; ends in READY. */
void sync_begin(struct engine *engine);
/* A reload is under way: the worker of now does not count any more, and its end is nothing to tell. */
void sync_expect_other_worker(struct engine *engine);
void sync_expect_any_worker(struct engine *engine);
bool sync_is_reloading(const struct engine *engine);
void sync_init(struct engine *engine);

// SPDX-License-Identifier: Apache-2.0
/* From pools to slots, and the slots that pools have left. */
#pragma once

#include "provider-haproxy/engine_state.h"

void pools_on_change(struct engine *engine, struct object *object, bool is_removed);
struct pools *pools_new(struct engine *engine);
void pools_free(struct pools *pools);
/* Slots that pools have left and that are not empty yet. */
size_t pools_leaving_count(const struct pools *pools);
/* Takes away the rows of pools that are gone, and empties slots that were left, when for a while nothing has led there. */
void pools_finish_leaving(struct engine *engine);
/* Servers whose CA or client certificate HAProxy names in what it says are left out; false: there are none. */
bool pools_leave_out(struct engine *engine, struct str output);
/* The file of this name is damaged: its content is had again from a pool, see trust_files_write(). */
void pools_refill_trust(struct engine *engine, const struct name *name);
/* Slots that pools had before our start, from the rows on disk. */
void pools_remember(struct engine *engine);
/* Gives back the groups of slots that nobody has needed for long, when HAProxy is to load its configuration. False: there were none; otherwise the
 * main file is behind. */
bool pools_release_idle(struct engine *engine);
/* Keeps room for pools to come. */
void pools_provide(struct engine *engine);

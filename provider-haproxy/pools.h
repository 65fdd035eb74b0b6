// SPDX-License-Identifier: Apache-2.0
/* From pools to slots, and the slots that pools have left. */
#pragma once

#include "provider-haproxy/engine_state.h"

void pools_on_change(struct engine *engine, struct object *object, bool is_removed);
struct pools *pools_new(struct engine *engine);
void pools_free(struct pools *pools);
/* Slots that pools have left and that are not empty yet. */
size_t pools_leaving_count(const struct pools *pools);
/* Removes the rows of deleted pools, and empties slots that were left, once nothing has led there for a while. */
void pools_finish_leaving(struct engine *engine);
/* Leaves out servers whose CA or client certificate is named in HAProxy's output; false: there are none. */
bool pools_leave_out(struct engine *engine, struct str output);
/* The file of this name is damaged: restores its content from a pool, see trust_files_write(). */
void pools_refill_trust(struct engine *engine, const struct name *name);
/* Slots that pools had before our start, from their rows on disk; without these, every pool gets a slot anew. False: there is no such file. */
bool pools_remember(struct engine *engine, struct rowfile *map);
/* Likewise from the file of a former release, which has other rows, too. */
void pools_remember_former(struct engine *engine, struct rowfile *map);
/* Releases the groups of slots that have been idle for long, when HAProxy is about to load its configuration. False: there were none; otherwise the
 * main file is out of date. */
bool pools_release_idle(struct engine *engine);
/* Says of all pools which Service they are of, from now on: it is called once, when the first policy asks. */
void pools_name_services(struct engine *engine);
/* Keeps free slots ready for new pools. */
void pools_provide(struct engine *engine);

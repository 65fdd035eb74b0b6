// SPDX-License-Identifier: Apache-2.0
/*
 * What a write of a status or of a finalizer is: a merge patch, and the object that the server answers. Pure: texts of requests, and
 * answers into wishes. status.h sends them.
 */
#pragma once

#include "watcher/kinds.h"
#include "watcher/status_plan.h"
#include "watcher/store.h"

/* Path with its query; the caller frees it. */
char *status_patch_path(const struct kind_version *version, const char *finalizer_manager,
	const struct store_object *object, enum status_step step);
/* The caller frees it. `target`: the addresses in their canonical form, for STATUS_WRITE; the object has a store_target. Always with the
 * revision: a merge patch replaces whole lists, so nobody else's change may be overwritten unseen. */
char *status_patch_body(struct store_object *object, enum status_step step, struct str target);

/* Whether the answer is an object at all: what answers with something else has perhaps not written anything. */
bool status_patch_is_object(struct str body);
/* The object as the server answered it. */
void status_patch_take_answer(struct status_wish *wish, enum status_step step, struct str target,
	struct str body, double now);
/* Refusals that say nothing of the status that was wanted. API servers do not answer a patch so, what stands before them may; an
 * Ingress must not lack its address for that until something else changes. */
bool status_patch_is_momentary(long code);

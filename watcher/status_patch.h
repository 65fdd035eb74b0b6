// SPDX-License-Identifier: Apache-2.0
/*
 * The requests that write a status or a finalizer, which are merge patches, and the objects in their answers. Pure: makes the texts of
 * requests, and takes answers into wishes. status.h sends them.
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

/* Whether the answer is an object at all: whatever answered with something else may not have written anything. */
bool status_patch_is_object(struct str body);
/* Takes the object in the server's answer into the wish. */
void status_patch_take_answer(struct status_wish *wish, enum status_step step, struct str target,
	struct str body, double now);
/* Refusals that say nothing about the wanted status. API servers do not answer a patch with these codes, but proxies in front of them may;
 * an Ingress must not go without its address until something else changes because of that. */
bool status_patch_is_momentary(long code);

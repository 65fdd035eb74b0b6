// SPDX-License-Identifier: Apache-2.0
/* Sets of targets: sorted lists, compared in one pass. No I/O. */
#pragma once

#include "common/arena.h"
#include "provider-elb/resources.h"

int target_cmp(const struct elb_target *a, const struct elb_target *b);
/* Those of `a` that are not in `b`, at most `max`; views. In the arena. */
struct elb_target_list targets_minus(const struct elb_target_list *a,
	const struct elb_target_list *b, size_t max, struct arena *arena);
/* Those of either; views. In the arena. */
struct elb_target_list targets_union(
	const struct elb_target_list *a, const struct elb_target_list *b, struct arena *arena);
bool targets_have_all(const struct elb_target_list *list, const struct elb_target_list *of);
bool targets_equal(const struct elb_target_list *a, const struct elb_target_list *b);
/* Whether one target is in both. */
bool targets_share_one(const struct elb_target_list *a, const struct elb_target_list *b);
/* A copy with its own texts, on the heap. */
void targets_copy(struct elb_target_list *to, const struct elb_target_list *from);
/* Frees what `list` had, after copying; `with` may hold views of it. */
void targets_replace(struct elb_target_list *list, const struct elb_target_list *with);
/* Changes a list that is such a copy. */
void targets_add(struct elb_target_list *list, const struct elb_target_list *more);
void targets_drop(struct elb_target_list *list, const struct elb_target_list *less);
void targets_keep(struct elb_target_list *list, const struct elb_target_list *only);
void targets_fini(struct elb_target_list *list);

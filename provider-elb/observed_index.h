// SPDX-License-Identifier: Apache-2.0
/*
 * Finds what observed.h holds of one kind by its ARN, its name, and the load-balancer object that it belongs to. No I/O.
 *
 * What has no name was only hinted at, by a list that lags: it is found by its ARN and by nothing else. Two may bear one name, when one was deleted and
 * the list has not noticed yet: the one that was seen last counts.
 */
#pragma once

#include "common/arena.h"
#include "common/sorted.h"

/* First member of each thing; the texts belong to the thing. */
struct index_entry {
	struct str arn;
	struct str lb;
	struct str name;
	const uint64_t *seen_in;
};

struct observed_index {
	struct sorted by_arn;
	struct sorted by_name;
	struct sorted by_lb; /* then by name */
};

void index_init(struct observed_index *index);
void index_fini(struct observed_index *index);

/* arn, lb and seen_in are set, and nothing else has this ARN. */
void index_add(struct observed_index *index, struct index_entry *entry);
void index_remove(struct observed_index *index, struct index_entry *entry);
/* The old name has to live until it returns. */
void index_rename(struct observed_index *index, struct index_entry *entry, struct str name);

struct index_entry *index_find(const struct observed_index *index, struct str arn);
struct index_entry *index_find_name(const struct observed_index *index, struct str name);
/* Of one load-balancer object, by name; NULL: there is no (further) one. */
struct index_entry *index_first_of(const struct observed_index *index, struct str lb);
struct index_entry *index_next_of(
	const struct observed_index *index, const struct index_entry *entry);
/* The first of the next load-balancer object; `entry` NULL: of the first one. */
struct index_entry *index_next_lb(
	const struct observed_index *index, const struct index_entry *entry);

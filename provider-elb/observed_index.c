// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/observed_index.h"

#include "common/must.h"

static int compare_arns(const void *left, const void *right)
{
	return str_cmp(
		((const struct index_entry *)left)->arn, ((const struct index_entry *)right)->arn);
}

static int compare_names(const void *left, const void *right)
{
	const struct index_entry *a = left;
	const struct index_entry *b = right;
	int order = str_cmp(a->name, b->name);
	return order != 0 ? order : str_cmp(a->arn, b->arn);
}

static int compare_lbs(const void *left, const void *right)
{
	int order = str_cmp(
		((const struct index_entry *)left)->lb, ((const struct index_entry *)right)->lb);
	return order != 0 ? order : compare_names(left, right);
}

static int compare_arn(const void *arn, const void *entry)
{
	return str_cmp(*(const struct str *)arn, ((const struct index_entry *)entry)->arn);
}

static int compare_name(const void *name, const void *entry)
{
	return str_cmp(*(const struct str *)name, ((const struct index_entry *)entry)->name);
}

static int compare_lb(const void *lb, const void *entry)
{
	return str_cmp(*(const struct str *)lb, ((const struct index_entry *)entry)->lb);
}

void index_init(struct observed_index *index)
{
	sorted_init(&index->by_arn, compare_arns);
	sorted_init(&index->by_name, compare_names);
	sorted_init(&index->by_lb, compare_lbs);
}

void index_fini(struct observed_index *index)
{
	sorted_fini(&index->by_arn);
	sorted_fini(&index->by_name);
	sorted_fini(&index->by_lb);
}

void index_add(struct observed_index *index, struct index_entry *entry)
{
	must(sorted_add(&index->by_arn, entry));
}

void index_remove(struct observed_index *index, struct index_entry *entry)
{
	index_rename(index, entry, STR_NONE);
	sorted_remove(&index->by_arn, entry);
}

void index_rename(struct observed_index *index, struct index_entry *entry, struct str name)
{
	if (!str_is_empty(entry->name)) {
		sorted_remove(&index->by_name, entry);
		sorted_remove(&index->by_lb, entry);
	}
	entry->name = name;
	if (!str_is_empty(name)) {
		must(sorted_add(&index->by_name, entry));
		must(sorted_add(&index->by_lb, entry));
	}
}

struct index_entry *index_find(const struct observed_index *index, struct str arn)
{
	return sorted_find(&index->by_arn, &arn, compare_arn);
}

struct index_entry *index_find_name(const struct observed_index *index, struct str name)
{
	struct index_entry *newest = sorted_find(&index->by_name, &name, compare_name);
	struct index_entry *at = newest;
	while (at != NULL && str_eq(at->name, name)) {
		if (*at->seen_in > *newest->seen_in)
			newest = at;
		at = sorted_next(&index->by_name, at);
	}
	return newest;
}

struct index_entry *index_first_of(const struct observed_index *index, struct str lb)
{
	return sorted_find(&index->by_lb, &lb, compare_lb);
}

struct index_entry *index_next_of(
	const struct observed_index *index, const struct index_entry *entry)
{
	struct index_entry *next = sorted_next(&index->by_lb, entry);
	return next != NULL && str_eq(next->lb, entry->lb) ? next : NULL;
}

struct index_entry *index_next_lb(
	const struct observed_index *index, const struct index_entry *entry)
{
	if (entry == NULL)
		return sorted_first(&index->by_lb);
	struct index_entry *next = sorted_next(&index->by_lb, entry);
	while (next != NULL && str_eq(next->lb, entry->lb))
		next = sorted_next(&index->by_lb, next);
	return next;
}

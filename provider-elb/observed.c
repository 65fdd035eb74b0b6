// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/observed.h"

#include "common/must.h"
#include "common/xalloc.h"
#include "provider-elb/observed_index.h"
#include "provider-elb/observed_texts.h"

struct balancer_entry {
	struct index_entry entry;
	struct observed_balancer balancer;
};

struct group_entry {
	struct index_entry entry;
	struct observed_group group;
};

struct security_group_entry {
	struct index_entry entry;
	struct observed_security_group group;
};

struct observed {
	struct observed_index balancers;
	struct observed_index groups;
	struct observed_index security_groups;
	uint64_t pass; /* the newest one */
};

#define ENTRY_OF(type, member, thing) \
	((struct type *)(uintptr_t)((const char *)(thing)-offsetof(struct type, member)))

struct observed *observed_new(void)
{
	struct observed *observed = xcalloc(1, sizeof(*observed));
	index_init(&observed->balancers);
	index_init(&observed->groups);
	index_init(&observed->security_groups);
	return observed;
}

void observed_free(struct observed *observed)
{
	void *entry;
	if (observed == NULL)
		return;
	while ((entry = sorted_first(&observed->balancers.by_arn)) != NULL)
		observed_forget_balancer(observed, &((struct balancer_entry *)entry)->balancer);
	while ((entry = sorted_first(&observed->groups.by_arn)) != NULL)
		observed_forget_group(observed, &((struct group_entry *)entry)->group);
	while ((entry = sorted_first(&observed->security_groups.by_arn)) != NULL)
		observed_forget_security_group(
			observed, &((struct security_group_entry *)entry)->group);
	free(observed);
}

/* ---- passes of the inventory ---- */

void observed_begin_pass(struct observed *observed, uint64_t pass)
{
	if (pass > observed->pass)
		observed->pass = pass;
}

void observed_see(struct observed *observed, uint64_t pass, uint64_t *seen_in)
{
	observed_begin_pass(observed, pass);
	if (pass > *seen_in)
		*seen_in = pass;
}

void observed_see_new(const struct observed *observed, uint64_t *seen_in)
{
	*seen_in = observed->pass + 1;
}

/* ---- balancers ---- */

static struct observed_balancer *balancer_of(struct index_entry *entry)
{
	return entry != NULL ? &((struct balancer_entry *)(void *)entry)->balancer : NULL;
}

struct observed_balancer *observed_find_balancer(const struct observed *observed, struct str arn)
{
	return balancer_of(index_find(&observed->balancers, arn));
}

struct observed_balancer *observed_find_balancer_name(
	const struct observed *observed, struct str name)
{
	return balancer_of(index_find_name(&observed->balancers, name));
}

size_t observed_balancer_count(const struct observed *observed)
{
	return observed->balancers.by_arn.count;
}

struct observed_balancer *observed_next_balancer(
	const struct observed *observed, const struct observed_balancer *balancer)
{
	const struct sorted *all = &observed->balancers.by_arn;
	if (balancer == NULL)
		return balancer_of(sorted_first(all));
	return balancer_of(sorted_next(all, ENTRY_OF(balancer_entry, balancer, balancer)));
}

struct observed_balancer *observed_add_balancer(
	struct observed *observed, struct str arn, struct str lb)
{
	struct observed_balancer *known = observed_find_balancer(observed, arn);
	if (known != NULL)
		return known;
	struct balancer_entry *made = xcalloc(1, sizeof(*made));
	made->balancer.arn = str_dup(arn);
	made->balancer.lb = str_dup(lb);
	arena_init(&made->balancer.content);
	made->entry = (struct index_entry){.arn = str_from(made->balancer.arn),
		.lb = str_from(made->balancer.lb),
		.seen_in = &made->balancer.seen_in};
	index_add(&observed->balancers, &made->entry);
	return &made->balancer;
}

void observed_set_balancer_name(
	struct observed *observed, struct observed_balancer *balancer, struct str name)
{
	struct balancer_entry *entry = ENTRY_OF(balancer_entry, balancer, balancer);
	if (str_eq(name, entry->entry.name))
		return;
	char *before = balancer->name;
	balancer->name = !str_is_empty(name) ? str_dup(name) : NULL;
	index_rename(&observed->balancers, &entry->entry, str_from(balancer->name));
	free(before);
}

void observed_drop_content(struct observed_balancer *balancer)
{
	arena_fini(&balancer->content);
	balancer->has_content = false;
	balancer->content_reader = NULL;
	balancer->content_writes = 0;
	balancer->listeners.items = NULL;
	balancer->listeners.count = 0;
}

void observed_forget_balancer(struct observed *observed, struct observed_balancer *balancer)
{
	struct balancer_entry *entry = ENTRY_OF(balancer_entry, balancer, balancer);
	index_remove(&observed->balancers, &entry->entry);
	arena_fini(&balancer->content);
	free(balancer->arn);
	free(balancer->name);
	free(balancer->dns_name);
	free(balancer->zone_id);
	free(balancer->identity);
	free(balancer->lb);
	free(balancer->applied);
	free(balancer->state_reason);
	free(balancer->scheme);
	free(balancer->ip_address_type);
	free(balancer->security_groups.items);
	free(balancer->subnets.items);
	free(entry);
}

/* ---- target groups ---- */

static struct observed_group *group_of(struct index_entry *entry)
{
	return entry != NULL ? &((struct group_entry *)(void *)entry)->group : NULL;
}

struct observed_group *observed_find_group(const struct observed *observed, struct str arn)
{
	return group_of(index_find(&observed->groups, arn));
}

struct observed_group *observed_find_group_name(const struct observed *observed, struct str name)
{
	return group_of(index_find_name(&observed->groups, name));
}

size_t observed_group_count(const struct observed *observed)
{
	return observed->groups.by_arn.count;
}

struct observed_group *observed_next_group(
	const struct observed *observed, const struct observed_group *group)
{
	const struct sorted *all = &observed->groups.by_arn;
	if (group == NULL)
		return group_of(sorted_first(all));
	return group_of(sorted_next(all, ENTRY_OF(group_entry, group, group)));
}

struct observed_group *observed_add_group(struct observed *observed, struct str arn, struct str lb)
{
	struct observed_group *known = observed_find_group(observed, arn);
	if (known != NULL)
		return known;
	struct group_entry *made = xcalloc(1, sizeof(*made));
	observed_set_text(&made->group.group.arn, arn);
	observed_set_text(&made->group.group.lb, lb);
	made->entry = (struct index_entry){.arn = made->group.group.arn,
		.lb = made->group.group.lb,
		.seen_in = &made->group.seen_in};
	index_add(&observed->groups, &made->entry);
	return &made->group;
}

void observed_set_group_name(
	struct observed *observed, struct observed_group *group, struct str name)
{
	struct group_entry *entry = ENTRY_OF(group_entry, group, group);
	if (str_eq(name, entry->entry.name))
		return;
	struct str before = group->group.name;
	group->group.name = STR_NONE;
	observed_set_text(&group->group.name, name);
	index_rename(&observed->groups, &entry->entry, group->group.name);
	observed_set_text(&before, STR_NONE);
}

void observed_forget_group(struct observed *observed, struct observed_group *group)
{
	struct group_entry *entry = ENTRY_OF(group_entry, group, group);
	index_remove(&observed->groups, &entry->entry);
	observed_free_group_texts(group);
	free(entry);
}

/* ---- security groups ---- */

static struct observed_security_group *security_group_of(struct index_entry *entry)
{
	return entry != NULL ? &((struct security_group_entry *)(void *)entry)->group : NULL;
}

struct observed_security_group *observed_find_security_group(
	const struct observed *observed, struct str id)
{
	return security_group_of(index_find(&observed->security_groups, id));
}

size_t observed_security_group_count(const struct observed *observed)
{
	return observed->security_groups.by_arn.count;
}

struct observed_security_group *observed_next_security_group(
	const struct observed *observed, const struct observed_security_group *group)
{
	const struct sorted *all = &observed->security_groups.by_arn;
	if (group == NULL)
		return security_group_of(sorted_first(all));
	return security_group_of(sorted_next(all, ENTRY_OF(security_group_entry, group, group)));
}

struct observed_security_group *observed_add_security_group(
	struct observed *observed, struct str id, struct str lb)
{
	struct observed_security_group *known = observed_find_security_group(observed, id);
	if (known != NULL)
		return known;
	struct security_group_entry *made = xcalloc(1, sizeof(*made));
	made->group.id = str_dup(id);
	made->group.lb = str_dup(lb);
	made->entry = (struct index_entry){.arn = str_from(made->group.id),
		.lb = str_from(made->group.lb),
		.seen_in = &made->group.seen_in};
	index_add(&observed->security_groups, &made->entry);
	return &made->group;
}

void observed_set_security_group_name(
	struct observed *observed, struct observed_security_group *group, struct str name)
{
	struct security_group_entry *entry = ENTRY_OF(security_group_entry, group, group);
	if (str_eq(name, entry->entry.name))
		return;
	char *before = group->name;
	group->name = !str_is_empty(name) ? str_dup(name) : NULL;
	index_rename(&observed->security_groups, &entry->entry, str_from(group->name));
	free(before);
}

void observed_forget_security_group(
	struct observed *observed, struct observed_security_group *group)
{
	struct security_group_entry *entry = ENTRY_OF(security_group_entry, group, group);
	index_remove(&observed->security_groups, &entry->entry);
	observed_clear_permissions(group);
	free(group->id);
	free(group->name);
	free(group->identity);
	free(group->lb);
	free(entry);
}

/* ---- by load-balancer object ---- */

size_t observed_balancers_of(const struct observed *observed, struct str lb, struct arena *arena,
	struct observed_balancer ***ret_balancers)
{
	LIST_OF(struct observed_balancer *) list = {0};
	const struct observed_index *index = &observed->balancers;
	for (struct index_entry *at = index_first_of(index, lb); at != NULL;
		at = index_next_of(index, at))
		*(struct observed_balancer **)arena_push(arena, (void **)&list.items, &list.count,
			sizeof(struct observed_balancer *)) = balancer_of(at);
	*ret_balancers = list.items;
	return list.count;
}

size_t observed_groups_of(const struct observed *observed, struct str lb, struct arena *arena,
	struct observed_group ***ret_groups)
{
	LIST_OF(struct observed_group *) list = {0};
	const struct observed_index *index = &observed->groups;
	for (struct index_entry *at = index_first_of(index, lb); at != NULL;
		at = index_next_of(index, at))
		*(struct observed_group **)arena_push(arena, (void **)&list.items, &list.count,
			sizeof(struct observed_group *)) = group_of(at);
	*ret_groups = list.items;
	return list.count;
}

size_t observed_security_groups_of(const struct observed *observed, struct str lb,
	struct arena *arena, struct observed_security_group ***ret_groups)
{
	LIST_OF(struct observed_security_group *) list = {0};
	const struct observed_index *index = &observed->security_groups;
	for (struct index_entry *at = index_first_of(index, lb); at != NULL;
		at = index_next_of(index, at))
		*(struct observed_security_group **)arena_push(arena, (void **)&list.items,
			&list.count, sizeof(struct observed_security_group *)) =
			security_group_of(at);
	*ret_groups = list.items;
	return list.count;
}

/* The one that comes first; NULL: there is none. */
static const struct index_entry *lower_lb(const struct index_entry *a, const struct index_entry *b)
{
	if (a == NULL || b == NULL)
		return a != NULL ? a : b;
	return str_cmp(a->lb, b->lb) <= 0 ? a : b;
}

static void pass_lb(
	const struct observed_index *index, const struct index_entry **at, struct str lb)
{
	if (*at != NULL && str_eq((*at)->lb, lb))
		*at = index_next_lb(index, *at);
}

size_t observed_load_balancers(
	const struct observed *observed, struct arena *arena, struct str **ret_lbs)
{
	struct str_list lbs = {0};
	const struct index_entry *balancer = index_next_lb(&observed->balancers, NULL);
	const struct index_entry *group = index_next_lb(&observed->groups, NULL);
	const struct index_entry *security_group = index_next_lb(&observed->security_groups, NULL);
	const struct index_entry *first;
	while ((first = lower_lb(lower_lb(balancer, group), security_group)) != NULL) {
		struct str lb = first->lb;
		*(struct str *)arena_push(
			arena, (void **)&lbs.items, &lbs.count, sizeof(struct str)) = lb;
		pass_lb(&observed->balancers, &balancer, lb);
		pass_lb(&observed->groups, &group, lb);
		pass_lb(&observed->security_groups, &security_group, lb);
	}
	*ret_lbs = lbs.items;
	return lbs.count;
}

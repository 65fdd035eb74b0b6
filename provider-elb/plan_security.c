// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/plan_parts.h"

#include <stdlib.h>

static bool needs_own(const struct plan_work *work)
{
	return work->input->network->security_groups.count == 0;
}

static struct observed_security_group *find_own(
	struct plan_work *work, const struct wanted_balancer *wanted)
{
	struct str identity = naming_security_group_identity(work->arena, wanted->lb, wanted->type);
	for (size_t i = 0; i < work->security_groups.count; i++) {
		if (str_eq(str_from(work->security_groups.items[i]->identity), identity))
			return work->security_groups.items[i];
	}
	return NULL;
}

bool plan_security_groups(
	struct plan_work *work, const struct wanted_balancer *wanted, struct str_list *ret_ids)
{
	const struct plan_network *network = work->input->network;
	struct str_list ids = {0}, unique;
	ids.items =
		arena_calloc(work->arena, network->security_groups.count + 2, sizeof(struct str));
	for (size_t i = 0; i < network->security_groups.count; i++)
		ids.items[ids.count++] = network->security_groups.items[i];
	if (needs_own(work)) {
		const struct observed_security_group *own = find_own(work, wanted);
		if (own == NULL)
			return false;
		ids.items[ids.count++] = str_from(own->id);
	}
	if (!str_is_empty(network->backend_security_group))
		ids.items[ids.count++] = network->backend_security_group;
	qsort(ids.items, ids.count, sizeof(*ids.items), plan_text_cmp);
	unique = (struct str_list){.items = ids.items};
	for (size_t i = 0; i < ids.count; i++) {
		if (i == 0 || !str_eq(ids.items[i], ids.items[i - 1]))
			unique.items[unique.count++] = ids.items[i];
	}
	*ret_ids = unique;
	return true;
}

/* ---- permissions: one for each port and network ---- */

struct permission {
	struct str source;
	uint64_t from, to;
};

struct permissions {
	struct permission *items; /* sorted */
	size_t count;
};

static int permission_cmp(const void *left, const void *right)
{
	const struct permission *a = left, *b = right;
	int order = str_cmp(a->source, b->source);
	if (order == 0)
		order = (a->from > b->from) - (a->from < b->from);
	return order != 0 ? order : (a->to > b->to) - (a->to < b->to);
}

static struct permissions permissions_wanted(
	struct plan_work *work, const struct wanted_balancer *wanted)
{
	const struct str_list *inbound = &work->input->network->inbound;
	struct permissions list = {0};
	list.items = arena_calloc(
		work->arena, inbound->count * wanted->listeners.count, sizeof(*list.items));
	for (size_t i = 0; i < wanted->listeners.count; i++) {
		uint64_t port = wanted->listeners.items[i].port;
		for (size_t j = 0; j < inbound->count; j++)
			list.items[list.count++] =
				(struct permission){inbound->items[j], port, port};
	}
	qsort(list.items, list.count, sizeof(*list.items), permission_cmp);
	return list;
}

static struct permissions permissions_known(
	struct plan_work *work, const struct observed_security_group *group)
{
	struct permissions list = {0};
	list.items = arena_calloc(work->arena, group->permissions.count, sizeof(*list.items));
	for (size_t i = 0; i < group->permissions.count; i++) {
		const struct observed_permission *known = &group->permissions.items[i];
		list.items[list.count++] =
			(struct permission){str_from(known->source), known->from, known->to};
	}
	qsort(list.items, list.count, sizeof(*list.items), permission_cmp);
	return list;
}

/* The first of `list` that is not in `known`. */
static bool find_missing(struct plan_work *work, struct observed_security_group *group,
	const struct permissions *list, const struct permissions *known, enum plan_step step)
{
	for (size_t i = 0; i < list->count; i++) {
		const struct permission *permission = &list->items[i];
		if ((known->count != 0 && bsearch(permission, known->items, known->count,
						  sizeof(*known->items), permission_cmp) != NULL) ||
			plan_is_held(work, permission->source))
			continue;
		char *source = arena_alloc(work->arena, permission->source.len + 1);
		str_put(source, permission->source);
		work->plan->security_group = group;
		work->plan->permission = (struct observed_permission){
			.from = permission->from, .to = permission->to, .source = source};
		return plan_do(work, step);
	}
	return false;
}

/* A network load balancer that was made without a security group can never get one. */
static bool has_none(const struct plan_work *work, const struct wanted_balancer *wanted)
{
	const struct observed_balancer *balancer =
		observed_find_balancer_name(work->input->observed, wanted->name);
	return wanted->type == ELB_NETWORK && balancer != NULL &&
	       balancer->security_groups.count == 0;
}

bool plan_security_make(struct plan_work *work, const struct wanted_balancer *wanted)
{
	if (!needs_own(work) || has_none(work, wanted))
		return false;
	struct observed_security_group *own = find_own(work, wanted);
	work->plan->wanted = wanted;
	if (own == NULL) {
		if (!str_is_empty(work->input->network->vpc) &&
			!plan_is_held(work, wanted->identity))
			return plan_do(work, PLAN_CREATE_SECURITY_GROUP);
	} else if (!own->has_permissions) {
		work->plan->security_group = own;
		return plan_do(work, PLAN_READ_SECURITY_GROUP);
	} else {
		struct permissions list = permissions_wanted(work, wanted);
		struct permissions known = permissions_known(work, own);
		if (find_missing(work, own, &list, &known, PLAN_AUTHORIZE))
			return true;
	}
	work->plan->wanted = NULL;
	return false;
}

bool plan_security_revoke(struct plan_work *work, const struct wanted_balancer *wanted)
{
	struct observed_security_group *own = find_own(work, wanted);
	if (!needs_own(work) || own == NULL || !own->has_permissions)
		return false;
	struct permissions list = permissions_known(work, own);
	struct permissions known = permissions_wanted(work, wanted);
	return find_missing(work, own, &list, &known, PLAN_REVOKE);
}

static bool is_attached(const struct plan_work *work, const struct observed_security_group *group)
{
	for (size_t i = 0; i < work->balancers.count; i++) {
		const struct str_list *ids = &work->balancers.items[i]->security_groups;
		for (size_t j = 0; j < ids->count; j++) {
			if (str_eq(ids->items[j], str_from(group->id)))
				return true;
		}
	}
	return false;
}

bool plan_security_remove(struct plan_work *work)
{
	const struct wanted *wanted = work->input->wanted;
	for (size_t i = 0; i < work->security_groups.count; i++) {
		struct observed_security_group *group = work->security_groups.items[i];
		bool is_wanted = is_attached(work, group);
		for (size_t j = 0; j < wanted->count && needs_own(work) && !is_wanted; j++)
			is_wanted = find_own(work, &wanted->balancers[j]) == group;
		if (is_wanted || plan_is_held(work, str_from(group->id)))
			continue;
		work->plan->security_group = group;
		return plan_do(work, PLAN_DELETE_SECURITY_GROUP);
	}
	return false;
}

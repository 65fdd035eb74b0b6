// SPDX-License-Identifier: Apache-2.0
/* The texts and lists that the things in observed.h own. */
#include "common/must.h"
#include "common/xalloc.h"
#include "provider-elb/observed_texts.h"

#include <string.h>

void observed_set_text(struct str *text, struct str with)
{
	if (str_eq(*text, with) && (text->p == NULL) == (with.p == NULL))
		return;
	char *copy = with.p != NULL ? str_dup(with) : NULL;
	free((char *)(uintptr_t)text->p);
	*text = (struct str){copy, with.len};
}

void observed_set_list(struct str_list *list, const struct str_list *with)
{
	if (str_list_eq(list, with))
		return;
	size_t len = with->count * sizeof(struct str);
	for (size_t i = 0; i < with->count; i++)
		len += with->items[i].len;
	struct str *items = with->count != 0 ? xmalloc(len) : NULL;
	char *at = (char *)(items + with->count);
	for (size_t i = 0; i < with->count; i++) {
		str_put(at, with->items[i]);
		items[i] = (struct str){at, with->items[i].len};
		at += with->items[i].len;
	}
	free(list->items);
	*list = (struct str_list){items, with->count};
}

void observed_set_attributes(struct observed_group *group, const struct elb_group *from)
{
	struct elb_group *to = &group->group;
	size_t count = from->attributes.count;
	struct elb_attribute *items = count != 0 ? xcalloc(count, sizeof(*items)) : NULL;
	for (size_t i = 0; i < count; i++) {
		observed_set_text(&items[i].key, from->attributes.items[i].key);
		observed_set_text(&items[i].value, from->attributes.items[i].value);
	}
	for (size_t i = 0; i < to->attributes.count; i++) {
		observed_set_text(&to->attributes.items[i].key, STR_NONE);
		observed_set_text(&to->attributes.items[i].value, STR_NONE);
	}
	free(to->attributes.items);
	to->attributes.items = items;
	to->attributes.count = count;
}

void observed_set_health_check(struct elb_health_check *to, const struct elb_health_check *from)
{
	observed_set_text(&to->protocol, from->protocol);
	observed_set_text(&to->path, from->path);
	observed_set_text(&to->port, from->port);
	observed_set_text(&to->matcher, from->matcher);
	to->is_grpc = from->is_grpc;
	to->interval_s = from->interval_s;
	to->timeout_s = from->timeout_s;
	to->healthy = from->healthy;
	to->unhealthy = from->unhealthy;
}

/* ---- targets ---- */

int observed_compare_targets(const struct elb_target *a, const struct elb_target *b)
{
	int order = str_cmp(a->ip, b->ip);
	return order != 0 ? order : (a->port > b->port) - (a->port < b->port);
}

static void free_targets(struct elb_target_list *targets)
{
	for (size_t i = 0; i < targets->count; i++)
		observed_set_text(&targets->items[i].ip, STR_NONE);
	free(targets->items);
	*targets = (struct elb_target_list){0};
}

/* Room doubles when the count is zero or a power of two, so no member need hold it. */
static struct elb_target *push_target(struct elb_target_list *targets)
{
	size_t count = targets->count;
	if ((count & (count - 1)) == 0)
		targets->items = xreallocarray(
			targets->items, count != 0 ? count * 2 : 1, sizeof(struct elb_target));
	return &targets->items[targets->count++];
}

void observed_set_targets(struct observed_group *group, const struct elb_target_list *targets)
{
	struct elb_target_list copy = {0};
	for (size_t i = 0; i < targets->count; i++) {
		const struct elb_target *from = &targets->items[i];
		must(i == 0 || observed_compare_targets(from - 1, from) < 0);
		struct elb_target *target = push_target(&copy);
		*target =
			(struct elb_target){.port = from->port, .is_elsewhere = from->is_elsewhere};
		observed_set_text(&target->ip, from->ip);
	}
	free_targets(&group->targets);
	group->targets = copy;
}

/* Where it is, or where it belongs. */
static size_t find_target(
	const struct elb_target_list *targets, const struct elb_target *target, bool *ret_is_there)
{
	size_t low = 0;
	size_t high = targets->count;
	*ret_is_there = false;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = observed_compare_targets(target, &targets->items[middle]);
		if (order == 0)
			*ret_is_there = true;
		if (order <= 0)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

void observed_add_target(struct observed_group *group, const struct elb_target *target)
{
	struct elb_target_list *targets = &group->targets;
	bool is_there;
	size_t at = find_target(targets, target, &is_there);
	if (!is_there) {
		push_target(targets);
		memmove(&targets->items[at + 1], &targets->items[at],
			(targets->count - 1 - at) * sizeof(*targets->items));
		targets->items[at] = (struct elb_target){.port = target->port};
		observed_set_text(&targets->items[at].ip, target->ip);
	}
	targets->items[at].is_elsewhere = target->is_elsewhere;
}

void observed_remove_target(struct observed_group *group, const struct elb_target *target)
{
	struct elb_target_list *targets = &group->targets;
	bool is_there;
	size_t at = find_target(targets, target, &is_there);
	if (!is_there)
		return;
	observed_set_text(&targets->items[at].ip, STR_NONE);
	targets->count--;
	memmove(&targets->items[at], &targets->items[at + 1],
		(targets->count - at) * sizeof(*targets->items));
}

void observed_free_group_texts(struct observed_group *group)
{
	struct elb_group *own = &group->group;
	observed_set_text(&own->name, STR_NONE);
	observed_set_text(&own->arn, STR_NONE);
	observed_set_text(&own->identity, STR_NONE);
	observed_set_text(&own->lb, STR_NONE);
	observed_set_text(&own->applied, STR_NONE);
	observed_set_text(&own->pool, STR_NONE);
	observed_set_text(&own->protocol, STR_NONE);
	observed_set_text(&own->version, STR_NONE);
	observed_set_health_check(&own->health_check, &(struct elb_health_check){0});
	observed_set_attributes(group, &(struct elb_group){0});
	free(group->balancer_arn);
	free_targets(&group->targets);
}

/* ---- permissions ---- */

static bool is_permission(
	const struct observed_permission *own, const struct observed_permission *permission)
{
	return own->from == permission->from && own->to == permission->to &&
	       strcmp(own->source, permission->source) == 0;
}

void observed_clear_permissions(struct observed_security_group *group)
{
	for (size_t i = 0; i < group->permissions.count; i++)
		free(group->permissions.items[i].source);
	free(group->permissions.items);
	group->permissions.items = NULL;
	group->permissions.count = 0;
}

void observed_add_permission(
	struct observed_security_group *group, uint64_t from, uint64_t to, struct str source)
{
	size_t count = group->permissions.count;
	if ((count & (count - 1)) == 0)
		group->permissions.items = xreallocarray(group->permissions.items,
			count != 0 ? count * 2 : 1, sizeof(struct observed_permission));
	group->permissions.items[group->permissions.count++] =
		(struct observed_permission){.from = from, .to = to, .source = str_dup(source)};
}

void observed_remove_permission(
	struct observed_security_group *group, const struct observed_permission *permission)
{
	size_t kept = 0;
	for (size_t i = 0; i < group->permissions.count; i++) {
		struct observed_permission *own = &group->permissions.items[i];
		if (is_permission(own, permission))
			free(own->source);
		else
			group->permissions.items[kept++] = *own;
	}
	group->permissions.count = kept;
}

// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/balancer_wanted.h"

#include "common/xalloc.h"
#include "provider-common/digest.h"
#include "provider-elb/naming.h"

#include <stdlib.h>

/* ---- lookups ---- */

static const struct pool *find_pool(void *ctx, struct str id)
{
	struct balancer *balancer = ctx;
	struct provider *provider = balancer->context->provider;
	struct object *object = state_find(provider_state(provider), LB_POOL, id);
	if (object == NULL)
		return NULL;
	struct pool *pool = arena_alloc(&balancer->arena, sizeof(*pool));
	provider_decode(provider, object, &balancer->arena, pool);
	return pool;
}

static struct str find_certificate(void *ctx, struct str id, bool *ret_is_refused)
{
	struct balancer *balancer = ctx;
	return certs_arn(balancer->context->certs, id, ret_is_refused);
}

static size_t decode_hosts(struct balancer *balancer, struct virtual_host **ret_hosts)
{
	struct object **objects = NULL;
	size_t count = state_hosts_of(balancer->object, &balancer->arena, &objects);
	struct virtual_host *hosts = arena_calloc(&balancer->arena, count + 1, sizeof(*hosts));
	for (size_t i = 0; i < count; i++)
		provider_decode(
			balancer->context->provider, objects[i], &balancer->arena, &hosts[i]);
	*ret_hosts = hosts;
	return count;
}

/* ---- targets ---- */

static void free_syncs(struct balancer *balancer)
{
	for (size_t i = 0; i < balancer->sync_count; i++)
		target_sync_free(balancer->syncs[i]);
	free(balancer->syncs);
	balancer->syncs = NULL;
	balancer->sync_count = 0;
}

/* The one of a group: kept when it was there before, both lists being in the order of names. */
static struct target_sync *take_sync(
	struct target_sync **before, size_t before_count, size_t *place, struct str name)
{
	while (*place < before_count) {
		struct target_sync *sync = before[*place];
		int order = str_cmp(target_sync_name(sync), name);
		if (order > 0)
			break;
		(*place)++;
		if (order == 0)
			return sync;
		target_sync_free(sync);
	}
	return NULL;
}

static size_t group_count(const struct balancer *balancer)
{
	size_t count = 0;
	for (size_t i = 0; i < balancer->wanted.count; i++)
		count += balancer->wanted.balancers[i].groups.count;
	return count;
}

static int compare_groups(const void *left, const void *right)
{
	const struct elb_group *const *a = left;
	const struct elb_group *const *b = right;
	return str_cmp((*a)->name, (*b)->name);
}

/* All groups that are wanted, by name. */
static const struct elb_group **list_groups(struct balancer *balancer, size_t count)
{
	const struct elb_group **groups =
		arena_calloc(&balancer->arena, count + 1, sizeof(struct elb_group *));
	size_t used = 0;
	for (size_t i = 0; i < balancer->wanted.count; i++) {
		for (size_t k = 0; k < balancer->wanted.balancers[i].groups.count; k++)
			groups[used++] = &balancer->wanted.balancers[i].groups.items[k];
	}
	qsort(groups, count, sizeof(struct elb_group *), compare_groups);
	return groups;
}

static void set_targets(struct balancer *balancer, struct target_sync *sync,
	const struct elb_group *group, size_t *room)
{
	const struct observed_group *observed =
		observed_find_group_name(balancer->context->observed, group->name);
	const struct pool *pool = find_pool(balancer, group->pool);
	struct elb_target_list targets = {NULL, 0};
	struct elb_target_list serving = {NULL, 0};
	size_t left_out = 0;
	if (pool != NULL) {
		wanted_serving(
			pool, group, balancer->context->settings, &balancer->arena, &serving);
		wanted_targets(pool, group, balancer->context->settings,
			observed != NULL ? &observed->targets : NULL, *room, &balancer->arena,
			&targets, &left_out);
	}
	*room -= targets.count;
	balancer->left_out += left_out;
	target_sync_set(sync, &targets, &serving);
}

static void set_syncs(
	struct balancer *balancer, void (*on_progress)(void *ctx), void (*on_missing)(void *ctx))
{
	size_t count = group_count(balancer);
	const struct elb_group **groups = list_groups(balancer, count);
	struct target_sync **syncs = xcalloc(count + 1, sizeof(struct target_sync *));
	struct target_sync_config config = {
		.calls = balancer->context->calls,
		.observed = balancer->context->observed,
		.poll_s = balancer->context->options->poll_interval,
		.on_progress = on_progress,
		.on_missing = on_missing,
		.ctx = balancer,
	};
	size_t room = balancer->context->settings->targets_max;
	size_t place = 0;
	balancer->left_out = 0;
	for (size_t i = 0; i < count; i++) {
		syncs[i] =
			take_sync(balancer->syncs, balancer->sync_count, &place, groups[i]->name);
		if (syncs[i] == NULL)
			syncs[i] = target_sync_new(&config, groups[i]->name);
		set_targets(balancer, syncs[i], groups[i], &room);
	}
	for (; place < balancer->sync_count; place++)
		target_sync_free(balancer->syncs[place]);
	free(balancer->syncs);
	balancer->syncs = syncs;
	balancer->sync_count = count;
}

/* ---- what is wanted ---- */

static void clear_wanted(struct balancer *balancer)
{
	balancer->wanted = (struct wanted){.count = 0};
	if (call_is_running(&balancer->call) && !balancer->has_spent) {
		balancer->spent = balancer->arena;
		balancer->has_spent = true;
		arena_init(&balancer->arena);
	} else {
		arena_reset(&balancer->arena);
	}
}

void balancer_drop_spent(struct balancer *balancer)
{
	if (balancer->has_spent)
		arena_fini(&balancer->spent);
	balancer->has_spent = false;
}

/* Of all that is wanted, but for endpoints. */
static struct str digest_wanted(struct balancer *balancer)
{
	struct arena *arena = &balancer->arena;
	struct digest digest;
	digest_begin(&digest);
	digest_add_int(&digest, balancer->decoded.absent);
	digest_add_int(&digest, balancer->decoded.keep);
	for (size_t i = 0; i < balancer->wanted.count; i++) {
		const struct wanted_balancer *wanted = &balancer->wanted.balancers[i];
		digest_add_str(&digest, wanted->name);
		digest_add_str(&digest, wanted->digest);
		for (size_t k = 0; k < wanted->groups.count; k++)
			digest_add_str(
				&digest, wanted_group_digest(&wanted->groups.items[k], arena));
	}
	return digest_end_text(&digest, DIGEST_APPLIED_LEN, arena);
}

bool balancer_work_out_wanted(
	struct balancer *balancer, void (*on_progress)(void *ctx), void (*on_missing)(void *ctx))
{
	struct virtual_host *hosts = NULL;
	struct wanted_lookup lookup = {find_pool, find_certificate, balancer};
	clear_wanted(balancer);
	provider_decode(balancer->context->provider, balancer->object, &balancer->arena,
		&balancer->decoded);
	if (!balancer->decoded.absent && !balancer->decoded.keep) {
		size_t count = decode_hosts(balancer, &hosts);
		wanted_make(&balancer->decoded, hosts, count, balancer->context->settings, &lookup,
			&balancer->arena, &balancer->wanted);
	}
	balancer->has_wanted = true;
	struct str digest = digest_wanted(balancer);
	bool is_news = !str_eq(digest, str_from(balancer->wanted_digest));
	str_set(&balancer->wanted_digest, digest);
	if (!balancer->decoded.keep || balancer->decoded.absent)
		set_syncs(balancer, on_progress, on_missing);
	return is_news;
}

void balancer_forget_wanted(struct balancer *balancer)
{
	free_syncs(balancer);
	clear_wanted(balancer);
	str_set(&balancer->wanted_digest, STR_NONE);
	balancer->has_wanted = false;
	balancer->left_out = 0;
}

void balancer_wake_syncs(struct balancer *balancer)
{
	for (size_t i = 0; i < balancer->sync_count; i++)
		target_sync_wake(balancer->syncs[i]);
}

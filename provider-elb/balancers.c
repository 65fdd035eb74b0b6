// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/balancers.h"

#include "common/clock.h"
#include "common/sorted.h"
#include "common/xalloc.h"
#include "provider-elb/balancer_hosts.h"
#include "provider-elb/log_events.h"

#include <stdlib.h>

struct balancers {
	struct balancer_context *context;
	struct sorted all; /* by id */
	char *swept;       /* id of the one that was swept last */
};

static int compare(const void *left, const void *right)
{
	return str_cmp(balancer_id(left), balancer_id(right));
}

static int compare_id(const void *left, const void *right)
{
	const struct str *id = left;
	return str_cmp(*id, balancer_id(right));
}

static struct balancer *find(const struct balancers *balancers, struct str lb)
{
	return sorted_find(&balancers->all, &lb, compare_id);
}

static struct balancer *get(struct balancers *balancers, struct str lb)
{
	struct balancer *balancer = find(balancers, lb);
	if (balancer == NULL) {
		balancer = balancer_new(balancers->context, lb);
		sorted_add(&balancers->all, balancer);
	}
	return balancer;
}

/* Its key is the value of TAG_LB, as AWS has it: ids may be longer. */
static struct balancer *get_of(struct balancers *balancers, const struct object *object)
{
	struct arena arena;
	arena_init(&arena);
	struct balancer *balancer = get(balancers, naming_tag_value(&arena, object_id(object)));
	arena_fini(&arena);
	return balancer;
}

static void on_gone(void *ctx, struct balancer *balancer)
{
	struct balancers *balancers = ctx;
	sorted_remove(&balancers->all, balancer);
	balancer_free(balancer);
}

/* ---- the translator ---- */

static void take_removed(struct balancers *balancers, struct object *object)
{
	struct balancer *balancer = object_user(object);
	object_set_user(object, NULL);
	if (object_kind(object) == LB_LOAD_BALANCER && balancer != NULL)
		balancer_want_nothing(balancer, 0);
}

void balancers_on_commit(struct balancers *balancers, const struct state_commit *commit)
{
	for (size_t i = 0; i < commit->change_count; i++) {
		if (commit->changes[i].type == STATE_REMOVED)
			take_removed(balancers, commit->changes[i].object);
	}
	for (size_t i = 0; i < commit->touched_count; i++) {
		struct object *object = commit->touched[i];
		struct balancer *balancer = get_of(balancers, object);
		object_set_user(object, balancer);
		balancer_want(balancer, object);
	}
}

bool balancers_fill_status(struct balancers *balancers, struct object *object, struct arena *arena,
	struct lb_status *status)
{
	struct balancer *balancer = object_user(object);
	status->state = LB_STATE_PENDING;
	return balancer == NULL || balancer_fill_status(balancer, arena, status);
}

/* ---- what AWS has ---- */

static void take_orphan(struct balancers *balancers, struct str lb)
{
	double remove_from = clock_monotonic_s() + balancers->context->options->orphan_grace;
	log_event(&EV_BALANCER_ORPHAN, LOG_TEXT("lb", lb));
	balancer_want_nothing(get(balancers, lb), remove_from);
}

/* What nobody wants, once everything that is wanted is known. */
static void find_orphans(struct balancers *balancers)
{
	struct str *ids = NULL;
	struct arena arena;
	if (!state_is_complete(provider_state(balancers->context->provider)))
		return;
	arena_init(&arena);
	size_t count = observed_load_balancers(balancers->context->observed, &arena, &ids);
	for (size_t i = 0; i < count; i++) {
		if (find(balancers, ids[i]) == NULL)
			take_orphan(balancers, ids[i]);
	}
	arena_fini(&arena);
}

void balancers_wake(struct balancers *balancers)
{
	struct balancer *next;
	for (struct balancer *balancer = sorted_first(&balancers->all); balancer != NULL;
		balancer = next) {
		next = sorted_next(&balancers->all, balancer);
		balancer_wake(balancer);
	}
}

void balancers_on_listed(struct balancers *balancers)
{
	struct balancer *next;
	find_orphans(balancers);
	for (struct balancer *balancer = sorted_first(&balancers->all); balancer != NULL;
		balancer = next) {
		next = sorted_next(&balancers->all, balancer);
		balancer_on_listed(balancer);
	}
}

void balancers_on_network(struct balancers *balancers)
{
	struct provider *provider = balancers->context->provider;
	struct object *object = state_first(provider_state(provider), LB_LOAD_BALANCER);
	for (; object != NULL; object = state_next(provider_state(provider), object)) {
		if (object_user(object) != NULL)
			balancer_reconsider(object_user(object), object);
	}
	balancers_wake(balancers);
}

void balancers_on_changed(struct balancers *balancers, struct str lb)
{
	struct balancer *balancer = find(balancers, lb);
	if (balancer == NULL)
		return;
	balancer_tell(balancer);
	balancer_wake(balancer);
}

void balancers_on_certificate(struct balancers *balancers, struct str certificate)
{
	struct provider *provider = balancers->context->provider;
	struct object *object = state_find(provider_state(provider), LB_CERTIFICATE, certificate);
	struct object **users = NULL;
	struct arena arena;
	if (object == NULL)
		return;
	arena_init(&arena);
	size_t count = state_users_of(object, &arena, &users);
	for (size_t i = 0; i < count; i++) {
		if (object_user(users[i]) != NULL)
			balancer_want(object_user(users[i]), users[i]);
	}
	arena_fini(&arena);
}

void balancers_list_hosts(
	const struct balancers *balancers, struct arena *arena, struct records_wishes *wishes)
{
	for (const struct balancer *balancer = sorted_first(&balancers->all); balancer != NULL;
		balancer = sorted_next(&balancers->all, balancer))
		balancer_list_hosts(balancer, arena, wishes);
}

void balancers_tell_statuses(struct balancers *balancers)
{
	for (struct balancer *balancer = sorted_first(&balancers->all); balancer != NULL;
		balancer = sorted_next(&balancers->all, balancer))
		balancer_tell(balancer);
}

void balancers_on_dns(struct balancers *balancers)
{
	balancers_tell_statuses(balancers);
	balancers_wake(balancers);
}

void balancers_start_over(struct balancers *balancers)
{
	for (struct balancer *balancer = sorted_first(&balancers->all); balancer != NULL;
		balancer = sorted_next(&balancers->all, balancer))
		balancer_start_over(balancer);
}

/* ---- the sweep ---- */

void balancers_sweep_next(struct balancers *balancers)
{
	struct str last = str_from(balancers->swept);
	struct balancer *balancer = sorted_first(&balancers->all);
	while (balancer != NULL && balancers->swept != NULL &&
		str_cmp(balancer_id(balancer), last) <= 0)
		balancer = sorted_next(&balancers->all, balancer);
	if (balancer == NULL)
		balancer = sorted_first(&balancers->all);
	if (balancer == NULL)
		return;
	free(balancers->swept);
	balancers->swept = str_dup(balancer_id(balancer));
	balancer_sweep(balancer);
}

/* ---- lifecycle ---- */

struct balancers *balancers_new(struct balancer_context *context)
{
	struct balancers *balancers = xcalloc(1, sizeof(*balancers));
	balancers->context = context;
	context->on_gone = on_gone;
	context->ctx = balancers;
	sorted_init(&balancers->all, compare);
	return balancers;
}

void balancers_free(struct balancers *balancers)
{
	struct balancer *balancer;
	if (balancers == NULL)
		return;
	while ((balancer = sorted_first(&balancers->all)) != NULL) {
		sorted_remove(&balancers->all, balancer);
		balancer_free(balancer);
	}
	sorted_fini(&balancers->all);
	free(balancers->swept);
	free(balancers);
}

// SPDX-License-Identifier: Apache-2.0
#include "provider-rancher/balancers.h"

#include "common/must.h"
#include "common/xalloc.h"
#include "provider-rancher/balancer_reconcile.h"
#include "provider-rancher/balancer_status.h"
#include "provider-rancher/balancer_wanted.h"
#include "provider-rancher/log_events.h"
#include "provider-rancher/registry.h"

struct balancers {
	struct balancer_context context;
	bool has_claimed; /* the rows found at the start have been claimed by their owners */
	bool has_judged;  /* and the unclaimed ones have been checked */
};

/* ---- orphans ---- */

static void remove_orphan(struct balancers *balancers, struct lb_row *row)
{
	struct balancer *balancer = balancer_new(
		&balancers->context, row->identity != NULL ? row->identity : row->name);
	log_event(&EV_BALANCER_ORPHAN, LOG_STR("lb", balancer->identity),
		LOG_STR("name", row->name), LOG_STR("id", row->id));
	registry_add(balancers->context.registry, balancer);
	balancer_claim(balancer, row);
	balancer_on_change(balancer);
}

static void check_unclaimed(struct balancers *balancers, struct lb_row *row)
{
	enum claims_verdict verdict = registry_judge(balancers->context.registry, row);
	if (verdict == CLAIMS_ORPHAN) {
		/* A row that appears later must be seen twice: its owner may be about to be announced. */
		if (!balancers->has_judged || row->was_seen_orphaned)
			remove_orphan(balancers, row);
		else
			row->was_seen_orphaned = true;
		return;
	}
	if (verdict == CLAIMS_UNCERTAIN && !row->is_told_of)
		log_event(&EV_BALANCER_LEFT_ALONE, LOG_STR("name", row->name),
			LOG_STR("id", row->id));
	row->is_told_of = verdict == CLAIMS_UNCERTAIN;
}

static void check_all_unclaimed(struct balancers *balancers)
{
	struct lb_row *row;
	struct lb_row *next;
	/* Nothing is an orphan before everything wanted is known. */
	if (!state_is_complete(provider_state(balancers->context.provider)))
		return;
	for (row = observed_first_unclaimed(balancers->context.observed); row != NULL; row = next) {
		next = observed_next_unclaimed(balancers->context.observed, row);
		check_unclaimed(balancers, row);
	}
	balancers->has_judged = true;
}

/* ---- observed rows ---- */

void balancers_on_row(struct balancers *balancers, struct lb_row *row, unsigned changes)
{
	if (row->owner != NULL)
		balancer_on_row(row->owner, changes);
	else if (row->state == SERVER_STATE_REMOVED)
		observed_forget(balancers->context.observed, row);
}

void balancers_on_unseen(struct balancers *balancers, struct lb_row *row)
{
	struct balancer *balancer = row->owner;
	if (balancer == NULL) {
		observed_forget(balancers->context.observed, row);
		return;
	}
	/* Paging may skip a row: it is read by itself before it counts as gone. */
	if (balancer->state != LB_FSM_BUSY)
		balancer->must_read = true;
	balancer_on_news(balancer);
}

/* Only a complete list shows duplicates; their owners are told. */
static void find_duplicates(struct balancers *balancers)
{
	struct registry *registry = balancers->context.registry;
	struct balancer *balancer = registry_first(registry);
	for (; balancer != NULL; balancer = registry_next(registry, balancer)) {
		bool has_duplicate = balancer_is_described(balancer) &&
				     registry_find_duplicate(registry, balancer) != NULL;
		if (has_duplicate == balancer->has_duplicate)
			continue;
		balancer->has_duplicate = has_duplicate;
		balancer_tell(balancer);
	}
}

static void claim_all(struct balancers *balancers)
{
	struct registry *registry = balancers->context.registry;
	struct balancer *balancer = registry_first(registry);
	for (; balancer != NULL; balancer = registry_next(registry, balancer)) {
		if (balancer->object != NULL && !balancer->has_wanted)
			balancer_rebuild(balancer);
	}
	balancer = registry_first(registry);
	for (; balancer != NULL; balancer = registry_next(registry, balancer))
		balancer->has_looked = false;
	for (int pass = 0; pass < 2; pass++) {
		balancer = registry_first(registry);
		for (; balancer != NULL; balancer = registry_next(registry, balancer))
			registry_look_for_row(registry, balancer, pass == 1);
	}
	balancers->has_claimed = true;
}

void balancers_on_listed(struct balancers *balancers, bool follows)
{
	struct registry *registry = balancers->context.registry;
	struct balancer *balancer;
	struct balancer *next;
	bool is_first = !balancers->has_claimed;
	if (is_first || follows)
		claim_all(balancers);
	for (balancer = registry_first(registry); balancer != NULL; balancer = next) {
		next = registry_next(registry, balancer);
		if (is_first || !balancer->is_settled)
			balancer_on_news(balancer);
	}
	if (!follows)
		check_all_unclaimed(balancers);
	find_duplicates(balancers);
}

void balancers_on_image(struct balancers *balancers)
{
	struct registry *registry = balancers->context.registry;
	struct balancer *next;
	for (struct balancer *balancer = registry_first(registry); balancer != NULL;
		balancer = next) {
		next = registry_next(registry, balancer);
		if (balancer_needs(balancer) != 0)
			balancer_on_news(balancer);
	}
}

void balancers_tell_statuses(struct balancers *balancers)
{
	struct registry *registry = balancers->context.registry;
	struct balancer *balancer = registry_first(registry);
	for (; balancer != NULL; balancer = registry_next(registry, balancer)) {
		if (!balancer->is_settled)
			balancer_tell(balancer);
	}
}

bool balancers_are_busy(struct balancers *balancers)
{
	struct registry *registry = balancers->context.registry;
	struct balancer *balancer = registry_first(registry);
	for (; balancer != NULL; balancer = registry_next(registry, balancer)) {
		bool is_there = balancer->row != NULL;
		/* Settled without a row: it must not exist, or serves nothing. */
		if (!balancer->is_settled ||
			(is_there && (!server_state_lasts(balancer->row->state) ||
					     balancer->shown.none_since > 0)))
			return true;
	}
	return false;
}

/* ---- wanted objects ---- */

/* Its object was removed, or now belongs to another balancer. */
static void detach(
	struct balancers *balancers, struct balancer *balancer, const struct load_balancer *lb)
{
	balancer_keep_removal_event(balancer, lb);
	balancer->object = NULL;
	balancer->has_wanted = balancer->has_notices = false;
	balancer->waits_for_services = balancer->waits_for_certificates = false;
	balancer->is_absent = balancer->is_kept = balancer->is_empty = balancer->has_duplicate =
		false;
	services_stop_waiting(balancer->context->services, balancer);
	address_hold_end(balancers->context.hold, &balancer->shown);
	/* We know of no row; one that exists after all is found by its mark. */
	if (balancer->row == NULL && balancer->state == LB_FSM_IDLE)
		balancer_forget(balancer);
	else
		balancer_on_change(balancer);
}

static void attach(struct balancers *balancers, struct object *object, struct arena *arena)
{
	struct registry *registry = balancers->context.registry;
	struct load_balancer lb;
	provider_decode(balancers->context.provider, object, arena, &lb);
	struct identity identity = desired_identity(&lb);
	const char *text = naming_text(&identity, arena).p;
	struct balancer *before = object_user(object);
	if (before != NULL && strcmp(before->identity, text) == 0)
		return;
	if (before != NULL) {
		object_set_user(object, NULL);
		detach(balancers, before, &lb);
	}
	struct balancer *balancer = registry_find(registry, text);
	if (balancer == NULL) {
		balancer = balancer_new(&balancers->context, text);
		registry_add(registry, balancer);
	} else if (balancer->object != NULL) {
		log_event(&EV_BALANCER_TWICE, LOG_STR("lb", text));
		return;
	}
	/* A balancer about to be removed may be wanted again: the Event of its removal is then dropped. */
	balancer_attach(balancer, object);
	object_set_user(object, balancer);
}

static void take_removed(struct balancers *balancers, struct object *object, struct arena *arena)
{
	struct load_balancer lb;
	struct balancer *balancer = object_user(object);
	object_set_user(object, NULL);
	if (object_kind(object) != LB_LOAD_BALANCER || balancer == NULL)
		return;
	provider_decode(balancers->context.provider, object, arena, &lb);
	detach(balancers, balancer, &lb);
}

static void take_touched(struct balancers *balancers, const struct state_commit *commit)
{
	for (size_t i = 0; i < commit->touched_count; i++) {
		struct balancer *balancer = object_user(commit->touched[i]);
		if (balancer == NULL)
			continue;
		/* Before the current state is known nothing is built; claim_all() does it later. */
		balancer->has_wanted = balancer->has_wanted && balancers->has_claimed;
		balancer->is_changed = !balancers->has_claimed || balancer_rebuild(balancer);
	}
	for (int pass = 0; pass < 2 && balancers->has_claimed; pass++) {
		for (size_t i = 0; i < commit->touched_count; i++) {
			struct balancer *balancer = object_user(commit->touched[i]);
			if (balancer != NULL)
				registry_look_for_row(
					balancers->context.registry, balancer, pass == 1);
		}
	}
	for (size_t i = 0; i < commit->touched_count; i++) {
		struct balancer *balancer = object_user(commit->touched[i]);
		if (balancer == NULL)
			continue;
		/* Its revision or its notices may have changed. */
		balancer_tell(balancer);
		if (balancer->is_changed)
			balancer_on_change(balancer);
		else if (!balancer->is_settled)
			balancer_on_news(balancer);
	}
}

void balancers_on_commit(struct balancers *balancers, const struct state_commit *commit)
{
	struct arena arena;
	arena_init(&arena);
	for (size_t i = 0; i < commit->change_count; i++) {
		const struct state_change *change = &commit->changes[i];
		if (change->type == STATE_REMOVED)
			take_removed(balancers, change->object, &arena);
		arena_reset(&arena);
	}
	for (size_t i = 0; i < commit->change_count; i++) {
		const struct state_change *change = &commit->changes[i];
		if (object_kind(change->object) == LB_LOAD_BALANCER &&
			change->type != STATE_REMOVED)
			attach(balancers, change->object, &arena);
		arena_reset(&arena);
	}
	arena_fini(&arena);
	take_touched(balancers, commit);
}

bool balancers_fill_status(struct balancers *balancers, struct object *object, struct arena *arena,
	struct lb_status *status)
{
	struct balancer *balancer = object_user(object);
	if (balancer == NULL) {
		status->state = LB_STATE_FAILED;
		status->message = STR("another load balancer has the same namespace and name");
		return true;
	}
	status->state = LB_STATE_PENDING;
	if (!balancers->has_claimed) {
		const char *outage = request_queue_outage_reason(balancers->context.client->queue);
		if (outage != NULL)
			status->message = arena_str(arena, str_from(outage));
		return true;
	}
	return balancer_fill_status(balancer, arena, status);
}

void balancers_touch_object(struct object *object)
{
	struct balancer *balancer = object_user(object);
	if (balancer != NULL)
		balancer_touch(balancer);
}

/* ---- lifecycle ---- */

struct balancers *balancers_new(const struct balancer_context *context)
{
	struct balancers *balancers = xcalloc(1, sizeof(*balancers));
	balancers->context = *context;
	return balancers;
}

void balancers_free(struct balancers *balancers)
{
	struct balancer *balancer;
	struct balancer *next;
	if (balancers == NULL)
		return;
	struct registry *registry = balancers->context.registry;
	/* Orphans are not in the tree if somebody else had their identity: they are found by their rows. */
	struct lb_row *row = observed_first(balancers->context.observed);
	for (; row != NULL; row = observed_next(balancers->context.observed, row)) {
		if (row->owner != NULL && !row->owner->is_listed)
			balancer_free(row->owner);
	}
	for (balancer = registry_first(registry); balancer != NULL; balancer = next) {
		next = registry_next(registry, balancer);
		balancer->object = NULL;
		balancer_forget(balancer);
	}
	free(balancers);
}

// SPDX-License-Identifier: Apache-2.0
#include "provider-rancher/balancers.h"

#include "common/must.h"
#include "common/sorted.h"
#include "common/xalloc.h"
#include "provider-rancher/address_hold.h"
#include "provider-rancher/balancer.h"
#include "provider-rancher/claims.h"
#include "provider-rancher/log_events.h"

struct balancers {
	struct controller *controller;
	struct sorted by_identity;
	struct claims claims;
	bool has_claimed; /* what was there at the start has been given to whom it belongs */
	bool has_judged;  /* and what belongs to nobody has been looked at */
};

static int compare(const void *left, const void *right)
{
	const struct balancer *a = left;
	const struct balancer *b = right;
	return strcmp(a->identity, b->identity);
}

static int compare_identity(const void *identity, const void *balancer)
{
	return strcmp(identity, ((const struct balancer *)balancer)->identity);
}

static struct balancer *find(const struct balancers *balancers, const char *identity)
{
	return sorted_find(&balancers->by_identity, identity, compare_identity);
}

static struct balancer *first(const struct balancers *balancers)
{
	return sorted_first(&balancers->by_identity);
}

/* Also of one that is not there any more, as long as its memory is. */
static struct balancer *next_of(const struct balancers *balancers, const struct balancer *balancer)
{
	return sorted_next(&balancers->by_identity, balancer);
}

static void enlist(struct balancers *balancers, struct balancer *balancer)
{
	balancer->is_listed = sorted_add(&balancers->by_identity, balancer);
}

void balancers_forget(struct balancers *balancers, struct balancer *balancer)
{
	must(balancer->object == NULL);
	address_hold_end(balancers->controller->hold, &balancer->shown);
	if (balancer->is_listed)
		sorted_remove(&balancers->by_identity, balancer);
	balancer_free(balancer);
}

/* ---- claims ---- */

static bool is_wanted(
	void *ctx, const struct identity *identity, struct lb_row **ret_row, uint64_t *ret_routes)
{
	struct arena arena;
	arena_init(&arena);
	const struct balancer *balancer = find(ctx, naming_text(identity, &arena).p);
	arena_fini(&arena);
	if (balancer == NULL || balancer->object == NULL || balancer->is_absent)
		return false;
	*ret_row = balancer->row;
	*ret_routes = balancer->routes;
	return true;
}

static struct identity identity_of(const struct balancer *balancer)
{
	struct identity identity = {.kind = IDENTITY_INGRESS};
	must(naming_parse_text(str_from(balancer->identity), &identity));
	return identity;
}

/* It was there before we had anything to do with it. */
static void adopt(struct balancer *balancer, struct lb_row *row)
{
	if (row->identity == NULL)
		log_event(&EV_BALANCER_ADOPTED, LOG_STR("lb", balancer->identity),
			LOG_STR("name", row->name), LOG_STR("id", row->id));
	balancer_claim(balancer, row);
	/* It may have had addresses before we came. */
	balancer->shown.had_any = true;
	balancer_on_row_seen(balancer, ROW_ADDRESSES);
}

bool balancers_adopt_row(struct balancers *balancers, struct balancer *balancer)
{
	struct identity identity = identity_of(balancer);
	struct lb_row *row = claims_find(&balancers->claims, &identity, balancer->routes, true);
	if (row != NULL)
		adopt(balancer, row);
	return row != NULL;
}

bool balancers_find_leftover(struct balancers *balancers, struct balancer *balancer)
{
	struct identity identity = identity_of(balancer);
	struct lb_row *row = claims_find(&balancers->claims, &identity, 0, true);
	/* Without our mark it may be somebody's who does without us. */
	if (row != NULL && row->identity == NULL && balancers->controller->config->keep_unclaimed)
		row = NULL;
	if (row != NULL)
		balancer_claim(balancer, row);
	return row == NULL && claims_has_marked(&balancers->claims, &identity);
}

const struct lb_row *balancers_find_duplicate(
	const struct balancers *balancers, const struct balancer *balancer)
{
	return balancer->row != NULL ? claims_find_duplicate(&balancers->claims, balancer->row)
				     : NULL;
}

bool balancers_find_name(
	struct balancers *balancers, struct balancer *balancer, struct lb_name *ret_name)
{
	struct identity identity = identity_of(balancer);
	return claims_name(&balancers->claims, &identity, balancer->is_name_taken, ret_name) ==
	       CLAIMS_NAME_FREE;
}

static void look_for_row(struct balancers *balancers, struct balancer *balancer, bool by_any_name)
{
	/* One that must not exist looks when it plans. */
	if (balancer->object == NULL || balancer->row != NULL || balancer->has_looked ||
		balancer->is_absent)
		return;
	struct identity identity = identity_of(balancer);
	struct lb_row *row =
		claims_find(&balancers->claims, &identity, balancer->routes, by_any_name);
	balancer->has_looked = by_any_name;
	if (row != NULL)
		adopt(balancer, row);
}

/* ---- what belongs to nobody ---- */

static void remove_orphan(struct balancers *balancers, struct lb_row *row)
{
	struct balancer *balancer = balancer_new(
		balancers->controller, row->identity != NULL ? row->identity : row->name);
	log_event(&EV_BALANCER_ORPHAN, LOG_STR("lb", balancer->identity),
		LOG_STR("name", row->name), LOG_STR("id", row->id));
	enlist(balancers, balancer);
	balancer_claim(balancer, row);
	balancer_on_change(balancer);
}

static void judge(struct balancers *balancers, struct lb_row *row)
{
	enum claims_verdict verdict = claims_judge(&balancers->claims, row);
	if (verdict == CLAIMS_ORPHAN && row->identity == NULL &&
		balancers->controller->config->keep_unclaimed)
		verdict = CLAIMS_UNCERTAIN;
	if (verdict == CLAIMS_ORPHAN) {
		/* What appears later is looked at twice: it may belong to somebody who is about to be told. */
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

static void judge_all(struct balancers *balancers)
{
	struct lb_row *row;
	struct lb_row *next;
	/* Before everything that is wanted is known nobody is an orphan. */
	if (!state_is_complete(provider_state(balancers->controller->provider)))
		return;
	for (row = observed_first_unclaimed(balancers->controller->observed); row != NULL;
		row = next) {
		next = observed_next_unclaimed(balancers->controller->observed, row);
		judge(balancers, row);
	}
	balancers->has_judged = true;
}

/* ---- what is there ---- */

void balancers_on_row(struct balancers *balancers, struct lb_row *row, unsigned changes)
{
	if (row->owner != NULL)
		balancer_on_row(row->owner, changes);
	else if (row->state == SERVER_STATE_REMOVED)
		observed_forget(balancers->controller->observed, row);
}

void balancers_on_unseen(struct balancers *balancers, struct lb_row *row)
{
	struct balancer *balancer = row->owner;
	if (balancer == NULL) {
		observed_forget(balancers->controller->observed, row);
		return;
	}
	/* Pages drift: it is asked for by itself before it is believed to be gone. */
	if (balancer->state != LB_FSM_BUSY)
		balancer->must_read = true;
	balancer_on_news(balancer);
}

/* Whether somebody has a duplicate is seen from complete lists only, and told. */
static void look_for_duplicates(struct balancers *balancers)
{
	struct balancer *balancer = first(balancers);
	for (; balancer != NULL; balancer = next_of(balancers, balancer)) {
		bool has_duplicate = balancer_is_described(balancer) &&
				     balancers_find_duplicate(balancers, balancer) != NULL;
		if (has_duplicate == balancer->has_duplicate)
			continue;
		balancer->has_duplicate = has_duplicate;
		balancer_tell(balancer);
	}
}

static void claim_all(struct balancers *balancers)
{
	struct balancer *balancer = first(balancers);
	for (; balancer != NULL; balancer = next_of(balancers, balancer)) {
		if (balancer->object != NULL && !balancer->has_wanted)
			balancer_rebuild(balancer);
	}
	balancer = first(balancers);
	for (; balancer != NULL; balancer = next_of(balancers, balancer))
		balancer->has_looked = false;
	for (int pass = 0; pass < 2; pass++) {
		balancer = first(balancers);
		for (; balancer != NULL; balancer = next_of(balancers, balancer))
			look_for_row(balancers, balancer, pass == 1);
	}
	balancers->has_claimed = true;
}

void balancers_on_listed(struct balancers *balancers, bool follows)
{
	struct balancer *balancer;
	struct balancer *next;
	bool is_first = !balancers->has_claimed;
	if (is_first || follows)
		claim_all(balancers);
	for (balancer = first(balancers); balancer != NULL; balancer = next) {
		next = next_of(balancers, balancer);
		if (is_first || !balancer->is_settled)
			balancer_on_news(balancer);
	}
	if (!follows)
		judge_all(balancers);
	look_for_duplicates(balancers);
}

void balancers_tell_waiting(struct balancers *balancers)
{
	struct balancer *next;
	for (struct balancer *balancer = first(balancers); balancer != NULL; balancer = next) {
		next = next_of(balancers, balancer);
		if (balancer_needs(balancer) != 0)
			balancer_on_news(balancer);
	}
}

void balancers_tell_statuses(struct balancers *balancers)
{
	struct balancer *balancer = first(balancers);
	for (; balancer != NULL; balancer = next_of(balancers, balancer)) {
		if (!balancer->is_settled)
			balancer_tell(balancer);
	}
}

bool balancers_are_busy(struct balancers *balancers)
{
	struct balancer *balancer = first(balancers);
	for (; balancer != NULL; balancer = next_of(balancers, balancer)) {
		bool is_there = balancer->row != NULL;
		/* Settled without a row: it is not to be there, or serves nothing. */
		if (!balancer->is_settled ||
			(is_there && (!server_state_lasts(balancer->row->state) ||
					     balancer->shown.none_since > 0)))
			return true;
	}
	return false;
}

/* ---- what is wanted ---- */

/* Its object is gone, or has become another's. */
static void detach(struct balancer *balancer, const struct load_balancer *lb)
{
	struct balancers *balancers = balancer->controller->balancers;
	balancer_keep_removal_event(balancer, lb);
	balancer->object = NULL;
	balancer->has_wanted = balancer->has_notices = false;
	balancer->waits_for_services = balancer->waits_for_certificates = false;
	balancer->is_absent = balancer->is_kept = balancer->is_empty = balancer->has_duplicate =
		false;
	services_stop_waiting(balancer->controller->services, balancer);
	address_hold_end(balancers->controller->hold, &balancer->shown);
	/* Nothing is there that we know of; what there may be is found by its mark. */
	if (balancer->row == NULL && balancer->state == LB_FSM_IDLE)
		balancers_forget(balancers, balancer);
	else
		balancer_on_change(balancer);
}

static void attach(struct balancers *balancers, struct object *object, struct arena *arena)
{
	struct load_balancer lb;
	provider_decode(balancers->controller->provider, object, arena, &lb);
	struct identity identity = desired_identity(&lb);
	const char *text = naming_text(&identity, arena).p;
	struct balancer *before = object_user(object);
	if (before != NULL && strcmp(before->identity, text) == 0)
		return;
	if (before != NULL) {
		object_set_user(object, NULL);
		detach(before, &lb);
	}
	struct balancer *balancer = find(balancers, text);
	if (balancer == NULL) {
		balancer = balancer_new(balancers->controller, text);
		enlist(balancers, balancer);
	} else if (balancer->object != NULL) {
		log_event(&EV_BALANCER_TWICE, LOG_STR("lb", text));
		return;
	}
	/* One that was about to go may come back: the Event of its removal is not needed then. */
	balancer_revive(balancer, object);
	object_set_user(object, balancer);
}

static void take_removed(struct balancers *balancers, struct object *object, struct arena *arena)
{
	struct load_balancer lb;
	struct balancer *balancer = object_user(object);
	object_set_user(object, NULL);
	if (object_kind(object) != LB_LOAD_BALANCER || balancer == NULL)
		return;
	provider_decode(balancers->controller->provider, object, arena, &lb);
	detach(balancer, &lb);
}

static void take_touched(struct balancers *balancers, const struct state_commit *commit)
{
	for (size_t i = 0; i < commit->touched_count; i++) {
		struct balancer *balancer = object_user(commit->touched[i]);
		if (balancer == NULL)
			continue;
		/* Before it is known what is there, all are built together when it is: see claim_all(). */
		balancer->has_wanted = balancer->has_wanted && balancers->has_claimed;
		balancer->is_changed = !balancers->has_claimed || balancer_rebuild(balancer);
	}
	for (int pass = 0; pass < 2 && balancers->has_claimed; pass++) {
		for (size_t i = 0; i < commit->touched_count; i++) {
			struct balancer *balancer = object_user(commit->touched[i]);
			if (balancer != NULL)
				look_for_row(balancers, balancer, pass == 1);
		}
	}
	for (size_t i = 0; i < commit->touched_count; i++) {
		struct balancer *balancer = object_user(commit->touched[i]);
		if (balancer == NULL)
			continue;
		/* Its revision or its notices may be others now. */
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
		const char *outage =
			request_queue_outage_reason(balancers->controller->client.queue);
		if (outage != NULL)
			status->message = arena_str(arena, str_from(outage));
		return true;
	}
	return balancer_fill_status(balancer, arena, status);
}

void balancers_on_hold_over(struct balancers *balancers, struct shown *shown, bool warn)
{
	(void)balancers;
	balancer_on_hold_over(
		(struct balancer *)(void *)((char *)shown - offsetof(struct balancer, shown)),
		warn);
}

void balancers_touch(struct balancer *balancer)
{
	if (balancer->object == NULL)
		return;
	bool is_changed = balancer_rebuild(balancer);
	balancer_tell(balancer);
	if (is_changed)
		balancer_on_change(balancer);
	else
		balancer_on_news(balancer);
}

void balancers_touch_object(struct balancers *balancers, struct object *object)
{
	(void)balancers;
	struct balancer *balancer = object_user(object);
	if (balancer != NULL)
		balancers_touch(balancer);
}

bool balancers_overtake(struct balancer *balancer)
{
	balancer->is_overtaken = balancer->state == LB_FSM_BUSY;
	return balancer->is_overtaken;
}

/* ---- life ---- */

struct balancers *balancers_new(struct controller *controller)
{
	struct balancers *balancers = xcalloc(1, sizeof(*balancers));
	balancers->controller = controller;
	sorted_init(&balancers->by_identity, compare);
	balancers->claims = (struct claims){
		.observed = controller->observed,
		.separator = controller->config->separator,
		.ctx = balancers,
		.is_wanted = is_wanted,
	};
	return balancers;
}

void balancers_free(struct balancers *balancers)
{
	struct balancer *balancer;
	struct balancer *next;
	if (balancers == NULL)
		return;
	/* Orphans are not in the tree if somebody else had their identity: they are found by their rows. */
	struct lb_row *row = observed_first(balancers->controller->observed);
	for (; row != NULL; row = observed_next(balancers->controller->observed, row)) {
		if (row->owner != NULL && !row->owner->is_listed)
			balancer_free(row->owner);
	}
	for (balancer = first(balancers); balancer != NULL; balancer = next) {
		next = next_of(balancers, balancer);
		balancer->object = NULL;
		balancers_forget(balancers, balancer);
	}
	free(balancers);
}

// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/balancer.h"

#include "common/clock.h"
#include "common/must.h"
#include "common/xalloc.h"
#include "provider-elb/balancer_failure.h"
#include "provider-elb/balancer_settled.h"
#include "provider-elb/balancer_status.h"
#include "provider-elb/balancer_wanted.h"
#include "provider-elb/dns.h"
#include "provider-elb/log_events.h"
#include "provider-elb/requests.h"

#include <stdlib.h>

static const double FIRST_LIST_WAIT_S = 2;

static void drive(struct balancer *balancer);

/* ---- planning ---- */

/* Where a new balancer is made; an application one needs more than a network one. */
static const struct plan_network *find_network(struct balancer *balancer)
{
	bool is_network_only =
		balancer->wanted.count == 1 && balancer->wanted.balancers[0].type == ELB_NETWORK;
	network_plan(balancer->context->network, is_network_only ? ELB_NETWORK : ELB_APPLICATION,
		&balancer->network);
	return &balancer->network;
}

/* Since when one of them has failed for good, as AWS says. */
static void note_failed_balancers(struct balancer *balancer, double now)
{
	struct observed_balancer **all = NULL;
	bool has_failed = false;
	struct arena arena;
	arena_init(&arena);
	size_t count = observed_balancers_of(
		balancer->context->observed, str_from(balancer->lb), &arena, &all);
	for (size_t i = 0; i < count; i++)
		has_failed = has_failed || all[i]->state == ELB_FAILED;
	if (!has_failed)
		balancer->failed_since = 0;
	else if (balancer->failed_since == 0)
		balancer->failed_since = now;
	arena_fini(&arena);
}

/* How long one that was replaced stays. */
static double replace_delay_s(const struct balancer *balancer)
{
	static const double month_s = 30. * 86400;
	double delay_s = balancer->context->options->replace_delay;
	return delay_s +
	       (dns_is_behind(balancer->context->dns, str_from(balancer->lb)) ? month_s : 0);
}

static void fill_input(struct balancer *balancer, double now, struct plan_input *ret_input)
{
	const struct balancer_context *context = balancer->context;
	/* What must not exist is not wanted: the plan is then that of a removal. What is not worked out yet is not known, and no reason to remove anything. */
	bool is_wanted = balancer->has_wanted && !balancer->decoded.absent;
	bool is_unknown = balancer->object != NULL && !balancer->has_wanted;
	*ret_input = (struct plan_input){
		.object = balancer->object != NULL ? &balancer->decoded : NULL,
		.wanted = is_wanted ? &balancer->wanted : NULL,
		.is_kept = is_unknown || (is_wanted && balancer->decoded.keep),
		.settings = context->settings,
		.network = find_network(balancer),
		.observed = context->observed,
		.lb = str_from(balancer->lb),
		.now = now,
		.replace_delay_s = replace_delay_s(balancer),
		.tag_delay_s = context->options->tag_delay,
		.may_delete = state_is_complete(provider_state(context->provider)) &&
			      balancer->removal_in_s <= 0,
		.rules_given_up = balancer->rules_given_up,
		.settled_since = balancer->settled_since,
		.is_sweep = balancer->is_sweep,
		.failed_since = balancer->failed_since,
		.held = held_subjects(balancer->held),
	};
}

static void make_plan(struct balancer *balancer)
{
	struct plan_input input;
	double now = clock_monotonic_s();
	arena_reset(&balancer->step_arena);
	balancer->subject = STR_NONE;
	note_failed_balancers(balancer, now);
	held_expire(balancer->held, now);
	balancer_take_back(balancer, now);
	balancer->removal_in_s = balancer->object == NULL ? balancer->remove_from - now : 0;
	fill_input(balancer, now, &input);
	plan_next(&input, &balancer->step_arena, &balancer->plan);
}

static void make_request(
	struct balancer *balancer, struct arena *arena, struct request *ret_request)
{
	struct plan_input input;
	fill_input(balancer, clock_monotonic_s(), &input);
	requests_step(&input, &balancer->plan, arena, ret_request);
}

static bool is_call(enum plan_step step)
{
	return step != PLAN_NOTHING && step != PLAN_LATER && step != PLAN_FORGET &&
	       step != PLAN_READ_LISTENERS;
}

/* ---- calls ---- */

static bool on_turn(void *ctx, struct arena *arena, struct request *ret_request)
{
	struct balancer *balancer = ctx;
	make_plan(balancer);
	if (is_call(balancer->plan.step)) {
		balancer->losses = inventory_losses(balancer->context->inventory);
		/* When it is needed what the plan points to may be gone. */
		balancer->subject = arena_str(&balancer->step_arena, plan_subject(&balancer->plan));
		make_request(balancer, arena, ret_request);
		return true;
	}
	call_cancel(&balancer->call);
	drive(balancer);
	return false;
}

static bool is_step_read(enum plan_step step)
{
	return step == PLAN_READ_SECURITY_GROUP || step == PLAN_READ_GROUP_HEALTH;
}

/* It is not known what there is in any of its balancers: read again before the next write. */
static void drop_content(struct balancer *balancer)
{
	struct observed_balancer **all = NULL;
	struct observed_security_group **groups = NULL;
	struct arena arena;
	arena_init(&arena);
	size_t count = observed_balancers_of(
		balancer->context->observed, str_from(balancer->lb), &arena, &all);
	for (size_t i = 0; i < count; i++)
		observed_drop_content(all[i]);
	count = observed_security_groups_of(
		balancer->context->observed, str_from(balancer->lb), &arena, &groups);
	for (size_t i = 0; i < count; i++)
		groups[i]->has_permissions = false;
	arena_fini(&arena);
}

static void follow_step(struct balancer *balancer)
{
	switch (balancer->plan.step) {
	case PLAN_CREATE_BALANCER:
		inventory_poll(balancer->context->inventory);
		break;
	case PLAN_DELETE_BALANCER:
		inventory_poll_gone(
			balancer->context->inventory, str_from(balancer->plan.balancer->arn));
		break;
	case PLAN_CREATE_GROUP:
		balancer_wake_syncs(balancer);
		break;
	default:
		break;
	}
}

/* If something was forgotten meanwhile, or dropped, the plan may point to it. */
static bool is_plan_good(const struct balancer *balancer)
{
	enum plan_step step = balancer->plan.step;
	const struct observed_balancer *target = balancer->plan.balancer;
	if (balancer->losses != inventory_losses(balancer->context->inventory))
		return false;
	return target == NULL || target->has_content || step == PLAN_TAG_BALANCER ||
	       step == PLAN_SET_SECURITY_GROUPS || step == PLAN_DELETE_BALANCER ||
	       step == PLAN_READ_GROUP_HEALTH;
}

/* False: the answer lacks what it must have. */
static bool take_step(struct balancer *balancer, const struct client_answer *answer)
{
	struct plan_input input;
	fill_input(balancer, clock_monotonic_s(), &input);
	bool is_plan_void = !is_plan_good(balancer);
	if (is_plan_void ||
		answers_step(answer->xml, &input, &balancer->plan, &balancer->step_arena) != 0) {
		drop_content(balancer);
		inventory_list_now(balancer->context->inventory);
		return is_plan_void;
	}
	balancer_announce_step(balancer);
	follow_step(balancer);
	return true;
}

static void start_timer(struct balancer *balancer, double delay_s)
{
	struct ev_loop *loop = balancer->context->calls->loop;
	ev_timer_stop(loop, &balancer->timer);
	ev_timer_set(&balancer->timer, delay_s, 0.);
	ev_timer_start(loop, &balancer->timer);
}

static void note_answer(struct balancer *balancer, const struct client_answer *answer)
{
	double delay_s = 0;
	if (answer->outcome == AWS_OK) {
		balancer_note_success(balancer);
	} else {
		balancer_note_failure(balancer, answer, &delay_s);
		balancer_tell(balancer);
	}
	balancer->is_backing_off = delay_s > 0;
	if (balancer->is_backing_off)
		start_timer(balancer, delay_s);
}

static void on_answer(void *ctx, const struct client_answer *answer)
{
	static const struct client_answer senseless = {
		.outcome = AWS_FAILED,
		.message = STR("an answer of AWS lacks what it must have"),
		.retry_after_s = -1,
	};
	struct balancer *balancer = ctx;
	bool is_good = answer->outcome != AWS_OK || take_step(balancer, answer);
	note_answer(balancer, is_good ? answer : &senseless);
	balancer_drop_spent(balancer);
	drive(balancer);
}

static void on_read(void *ctx, const struct client_answer *answer)
{
	struct balancer *balancer = ctx;
	content_reader_free(balancer->reader);
	balancer->reader = NULL;
	note_answer(balancer, answer);
	drive(balancer);
}

static void start_reader(struct balancer *balancer)
{
	struct content_reader_config config = {
		.calls = balancer->context->calls,
		.observed = balancer->context->observed,
		.on_done = on_read,
		.ctx = balancer,
	};
	must(balancer->plan.balancer != NULL);
	balancer->subject = STR_NONE;
	balancer->losses = inventory_losses(balancer->context->inventory);
	balancer->reader = content_reader_start(&config, str_from(balancer->plan.balancer->arn),
		balancer->is_sweep ? RANK_SWEEP : RANK_CHANGE);
}

/* ---- one step after the other ---- */

/* A certificate that we had imported may only not have been found yet: its listener must not go for that. */
static bool waits_for_first_list(const struct balancer *balancer)
{
	bool waits = false;
	for (size_t i = 0; i < balancer->wanted.count; i++)
		waits = waits || balancer->wanted.balancers[i].waits_for_certificates;
	return waits && !certs_are_known(balancer->context->certs);
}

static bool has_groups(struct balancer *balancer)
{
	struct observed_group **groups = NULL;
	return observed_groups_of(balancer->context->observed, str_from(balancer->lb),
		       &balancer->step_arena, &groups) != 0;
}

/* Load balancers come first, because they take minutes to become active. Then one that is begun is brought to its end before the next one is: of many, the
 * first ones serve long before the last ones do, and a change of what serves waits for few of them. */
static enum call_rank rank_of(struct balancer *balancer)
{
	enum plan_step step = balancer->plan.step;
	bool is_creation = step == PLAN_CREATE_BALANCER || step == PLAN_CREATE_SECURITY_GROUP ||
			   step == PLAN_CREATE_GROUP;
	if (is_creation && !has_groups(balancer))
		return RANK_CREATE;
	return is_step_read(step) ? RANK_POLL : RANK_CHANGE;
}

static void join(struct balancer *balancer)
{
	struct request request = {.service = AWS_ELB};
	struct arena arena;
	arena_init(&arena);
	make_request(balancer, &arena, &request);
	call_join(&balancer->call, &request, rank_of(balancer));
	arena_fini(&arena);
}

static bool is_busy(const struct balancer *balancer)
{
	return balancer->reader != NULL || call_is_running(&balancer->call) ||
	       !inventory_is_known(balancer->context->inventory);
}

/* Nothing is wanted, and it was too early for the plan to remove what is there. */
static void wait_for_removal(struct balancer *balancer)
{
	if (balancer->removal_in_s > 0)
		start_timer(balancer, balancer->removal_in_s);
}

static void drive(struct balancer *balancer)
{
	if (is_busy(balancer) || balancer->is_backing_off)
		return;
	if (balancer->object != NULL && !balancer->has_wanted)
		return;
	if (waits_for_first_list(balancer)) {
		/* Nobody tells when it is there, and has nothing that concerns this one. */
		start_timer(balancer, FIRST_LIST_WAIT_S);
		return;
	}
	make_plan(balancer);
	balancer_note_plan(balancer);
	balancer_note_settled(balancer);
	balancer_note_replaced(balancer);
	/* What it waits for may be another thing; the same status is not sent twice. */
	balancer_tell(balancer);
	ev_timer_stop(balancer->context->calls->loop, &balancer->timer);
	switch (balancer->plan.step) {
	case PLAN_NOTHING:
		call_cancel(&balancer->call);
		wait_for_removal(balancer);
		return;
	case PLAN_LATER:
		call_cancel(&balancer->call);
		start_timer(balancer, balancer->plan.delay_s);
		return;
	case PLAN_FORGET:
		call_cancel(&balancer->call);
		balancer->context->on_gone(balancer->context->ctx, balancer);
		return;
	case PLAN_READ_LISTENERS:
		call_cancel(&balancer->call);
		start_reader(balancer);
		return;
	default:
		join(balancer);
		return;
	}
}

static void on_timer(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct balancer *balancer = timer->data;
	balancer->is_backing_off = false;
	drive(balancer);
}

/* ---- what is wanted ---- */

static void on_targets(void *ctx)
{
	/* Busy or not. */
	balancer_tell(ctx);
	drive(ctx);
}

static void on_missing_group(void *ctx)
{
	inventory_list_now(((struct balancer *)ctx)->context->inventory);
}

void balancer_start_over(struct balancer *balancer)
{
	content_reader_free(balancer->reader);
	balancer->reader = NULL;
	balancer->is_sweep = balancer->is_settled = false;
	for (size_t i = 0; i < balancer->sync_count; i++)
		target_sync_start_over(balancer->syncs[i]);
	balancer_tell(balancer);
}

void balancer_want(struct balancer *balancer, struct object *object)
{
	balancer->object = object;
	/* Not before it is compared with what there is, which may have to wait. */
	balancer->is_settled = false;
	balancer_tell(balancer);
	/* Without the VPC's networks it is not known how to register an endpoint: balancers_on_network() comes back to it. */
	if (!network_is_known(balancer->context->network))
		return;
	/* What it waits for may be in this very change, but not if only endpoints come and go. */
	if (balancer_work_out_wanted(balancer, on_targets, on_missing_group)) {
		balancer_forgive(balancer);
		if (balancer->reader != NULL)
			content_reader_hurry(balancer->reader);
	}
	drive(balancer);
}

void balancer_reconsider(struct balancer *balancer, struct object *object)
{
	balancer_forgive(balancer);
	balancer_want(balancer, object);
}

void balancer_want_nothing(struct balancer *balancer, double remove_from)
{
	balancer->object = NULL;
	balancer->remove_from = remove_from;
	balancer->is_settled = false;
	balancer_forgive(balancer);
	balancer_forget_wanted(balancer);
	drive(balancer);
}

bool balancer_is_wanted(const struct balancer *balancer)
{
	return balancer->object != NULL;
}

void balancer_wake(struct balancer *balancer)
{
	balancer_wake_syncs(balancer);
	drive(balancer);
}

void balancer_on_listed(struct balancer *balancer)
{
	if (balancer_note_listed(balancer))
		balancer->is_backing_off = false;
	balancer_wake(balancer);
}

bool balancer_sweep(struct balancer *balancer)
{
	if (is_busy(balancer) || balancer->object == NULL || !balancer->is_settled)
		return false;
	balancer->is_sweep = true;
	drop_content(balancer);
	for (size_t i = 0; i < balancer->sync_count; i++)
		target_sync_recheck(balancer->syncs[i], RANK_SWEEP);
	drive(balancer);
	return true;
}

/* ---- lifecycle ---- */

struct balancer *balancer_new(const struct balancer_context *context, struct str lb)
{
	struct balancer *balancer = xcalloc(1, sizeof(*balancer));
	balancer->context = context;
	balancer->lb = str_dup(lb);
	arena_init(&balancer->arena);
	arena_init(&balancer->step_arena);
	ev_init(&balancer->timer, on_timer);
	balancer->timer.data = balancer;
	balancer->held = held_new();
	call_init(&balancer->call, context->calls, on_turn, on_answer, balancer);
	return balancer;
}

void balancer_free(struct balancer *balancer)
{
	if (balancer == NULL)
		return;
	call_cancel(&balancer->call);
	content_reader_free(balancer->reader);
	ev_timer_stop(balancer->context->calls->loop, &balancer->timer);
	balancer_forget_wanted(balancer);
	arena_fini(&balancer->arena);
	arena_fini(&balancer->step_arena);
	balancer_drop_spent(balancer);
	held_free(balancer->held);
	free(balancer->wanted_digest);
	free(balancer->failure.text);
	free(balancer->failure.subject);
	free(balancer->lb);
	free(balancer);
}

struct str balancer_id(const struct balancer *balancer)
{
	return str_from(balancer->lb);
}

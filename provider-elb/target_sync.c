// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/target_sync.h"

#include "common/backoff.h"
#include "common/clock.h"
#include "common/xalloc.h"
#include "provider-elb/handover.h"
#include "provider-elb/target_refusals.h"

#include <stdlib.h>

enum { TARGETS_HELD_MAX = 2000 }; /* in `departed` */

static const double RETRY_FIRST_S = 1;
static const double RETRY_CAP_S = 60;

struct target_sync {
	struct target_sync_config config;
	char *name;
	struct elb_target_list wanted;
	bool has_wanted;
	/* While it is not known what is registered: what has to be written all the same, because it was changed by us. */
	struct elb_target_list departed; /* to be deregistered */
	bool is_changed;                 /* all of `wanted` has to be registered */
	bool was_same; /* as wanted when it was compared last: that counts while it is read again */
	struct target_refusals refusals;
	struct handover handover;
	ev_timer look;     /* while old targets are kept */
	bool is_look_next; /* health has to be read */
	size_t batch; /* how many are sent together: fewer while one that is refused is looked for */
	struct call call;
	struct arena sent_arena;
	/* Of the call under way; in sent_arena. */
	struct elb_target_list sent;
	struct str sent_to; /* ARN of the group */
	/* AWS takes no more of them: from now on some go before as many come. */
	bool is_full;
	size_t room; /* how many have gone and were not replaced yet, with is_full */
	enum { SENT_NOTHING, SENT_REGISTER, SENT_DEREGISTER, SENT_READ } what;
	bool is_removal_next; /* the last call has registered: what has to go may not wait for more that comes */
	enum call_rank read_rank;
	enum requests_health health;
	struct backoff backoff;
	ev_timer retry;
	char *problem;
};

static struct observed_group *find(const struct target_sync *sync)
{
	struct observed_group *group =
		observed_find_group_name(sync->config.observed, str_from(sync->name));
	return group != NULL && group->group.arn.len != 0 ? group : NULL;
}

/* ---- what is next ---- */

static struct elb_target_list additions(
	const struct target_sync *sync, const struct observed_group *group, struct arena *arena)
{
	static const struct elb_target_list none;
	if (!group->has_targets && !sync->is_changed)
		return none;
	struct elb_target_list wanted =
		targets_minus(&sync->wanted, &sync->refusals.list, sync->wanted.count, arena);
	/* What was registered in this life without knowing the rest is in group->targets, too. */
	return targets_minus(&wanted, &group->targets, sync->batch, arena);
}

static struct elb_target_list removals(
	const struct target_sync *sync, const struct observed_group *group, struct arena *arena)
{
	const struct elb_target_list *all = group->has_targets ? &group->targets : &sync->departed;
	return targets_minus(all, &sync->wanted, all->count, arena);
}

/* Those of `old` that may go. Nothing leads to a group without a load balancer, so nothing is checked there. */
static struct elb_target_list release(struct target_sync *sync, const struct observed_group *group,
	const struct elb_target_list *old, struct arena *arena)
{
	static const struct elb_target_list none;
	struct elb_target_list missing =
		targets_minus(&sync->wanted, &group->targets, sync->wanted.count, arena);
	struct elb_target_list staying =
		targets_minus(&sync->wanted, &missing, sync->wanted.count, arena);
	return handover_release(&sync->handover, old,
		group->balancer_arn != NULL ? &staying : &none, clock_monotonic_s(), arena);
}

/* Additions come first, so that a group is not left without targets; but they take turns, because in a long rollout there are always more of them, and what is
 * gone would go on getting requests. Old ones stay until a new one gets requests (handover.h). Where there is no room for new ones, half of the old ones go for as many of
 * them, so that some always serve, if there is more than one. */
static void choose(struct target_sync *sync, const struct observed_group *group)
{
	struct elb_target_list more, less;
	arena_reset(&sync->sent_arena);
	sync->sent_to = arena_str(&sync->sent_arena, group->group.arn);
	more = additions(sync, group, &sync->sent_arena);
	less = removals(sync, group, &sync->sent_arena);
	bool is_short = sync->is_full && more.count > sync->room;
	if (!is_short || less.count == 1)
		less = release(sync, group, &less, &sync->sent_arena);
	if (less.count > REQUESTS_TARGETS_MAX)
		less.count = REQUESTS_TARGETS_MAX;
	if (is_short)
		more.count = sync->room;
	bool is_turn = sync->is_removal_next && !is_short &&
		       targets_share_one(&sync->wanted, &group->targets);
	bool is_removal = less.count != 0 && (more.count == 0 || is_turn);
	if (is_removal && is_short)
		less.count = (less.count + 1) / 2;
	sync->sent = is_removal ? less : more;
	sync->what = is_removal ? SENT_DEREGISTER : more.count != 0 ? SENT_REGISTER : SENT_NOTHING;
	if (sync->what == SENT_NOTHING)
		sync->is_removal_next = false;
}

static bool make(struct target_sync *sync, struct arena *arena, struct request *ret_request)
{
	const struct observed_group *group = find(sync);
	sync->what = SENT_NOTHING;
	if (group == NULL)
		return false;
	choose(sync, group);
	if (sync->what != SENT_NOTHING) {
		for (size_t i = 0; i < sync->sent.count; i++)
			sync->sent.items[i].ip =
				arena_str(&sync->sent_arena, sync->sent.items[i].ip);
		requests_targets(group->group.arn, &sync->sent, sync->what == SENT_REGISTER, arena,
			ret_request);
		return true;
	}
	bool is_look = sync->is_look_next && handover_waits(&sync->handover);
	if (group->has_targets && !is_look)
		return false;
	sync->what = SENT_READ;
	requests_health(group->group.arn, arena, ret_request);
	return true;
}

static void note_supplied(struct target_sync *sync, struct observed_group *group)
{
	/* What leads to it already did so before us. */
	if (group->balancer_arn != NULL || targets_have_all(&group->targets, &sync->wanted))
		group->is_supplied = true;
}

/* Old targets are kept: health is read from time to time. The timer also ends the wait when reads do not get their turn. */
static void look_again(struct target_sync *sync)
{
	if (!handover_waits(&sync->handover)) {
		ev_timer_stop(sync->config.calls->loop, &sync->look);
		sync->is_look_next = false;
	} else if (!ev_is_active(&sync->look)) {
		ev_timer_set(&sync->look, sync->config.poll_s, 0.);
		ev_timer_start(sync->config.calls->loop, &sync->look);
	}
}

static enum call_rank rank_of(const struct target_sync *sync, const struct observed_group *group)
{
	if (sync->what != SENT_READ || group->balancer_arn == NULL)
		return RANK_CHANGE;
	return handover_waits(&sync->handover) ? RANK_POLL : sync->read_rank;
}

static void step(struct target_sync *sync)
{
	struct request request = {.service = AWS_ELB};
	struct observed_group *group = find(sync);
	if (group == NULL || call_is_running(&sync->call) || ev_is_active(&sync->retry))
		return;
	note_supplied(sync, group);
	struct arena arena;
	arena_init(&arena);
	if (make(sync, &arena, &request))
		call_join(&sync->call, &request, rank_of(sync, group));
	else
		call_cancel(&sync->call);
	look_again(sync);
	arena_fini(&arena);
}

/* ---- calls ---- */

static bool on_turn(void *ctx, struct arena *arena, struct request *ret_request)
{
	struct target_sync *sync = ctx;
	if (make(sync, arena, ret_request))
		return true;
	call_cancel(&sync->call);
	return false;
}

/* As if it had been changed, but not written yet. */
static void forget_written(struct target_sync *sync)
{
	if (sync->what == SENT_REGISTER)
		sync->is_changed = true;
	else if (sync->what == SENT_DEREGISTER)
		targets_add(&sync->departed, &sync->sent);
}

static void take_read(struct target_sync *sync, struct observed_group *group, const struct xml *xml)
{
	struct arena arena;
	arena_init(&arena);
	struct elb_target_list proven = answers_proven(xml, &arena);
	sync->health = answers_health(xml, group);
	handover_read(&sync->handover, &group->targets, &proven, clock_monotonic_s());
	sync->is_look_next = false;
	arena_fini(&arena);
	/* From now on the whole list says what is to be written. */
	targets_fini(&sync->departed);
	sync->is_changed = false;
}

static void take_written(struct target_sync *sync, struct observed_group *group)
{
	if (sync->what == SENT_REGISTER && sync->batch < REQUESTS_TARGETS_MAX)
		sync->batch *= 2;
	if (sync->batch > REQUESTS_TARGETS_MAX)
		sync->batch = REQUESTS_TARGETS_MAX;
	/* Without knowing the rest, what was wanted before may have been there already. */
	if (sync->what == SENT_REGISTER && group->has_targets)
		handover_registered(&sync->handover, &sync->sent, clock_monotonic_s());
	for (size_t i = 0; i < sync->sent.count; i++) {
		if (sync->what == SENT_REGISTER)
			observed_add_target(group, &sync->sent.items[i]);
		else
			observed_remove_target(group, &sync->sent.items[i]);
	}
	sync->is_removal_next = sync->what == SENT_REGISTER;
	if (sync->what == SENT_DEREGISTER)
		sync->room += sync->sent.count;
	else
		sync->room -= sync->room < sync->sent.count ? sync->room : sync->sent.count;
	if (sync->what == SENT_DEREGISTER)
		targets_drop(&sync->departed, &sync->sent);
	if (targets_have_all(&group->targets, &sync->wanted)) {
		sync->is_changed = false;
		sync->is_full = false;
	}
}

/* Whether there are old ones that can make room for new ones. */
static bool make_room(struct target_sync *sync, const struct observed_group *group)
{
	struct arena arena;
	arena_init(&arena);
	sync->room = 0;
	sync->is_full = sync->what == SENT_REGISTER && group != NULL &&
			removals(sync, group, &arena).count != 0;
	arena_fini(&arena);
	return sync->is_full;
}

/* AWS refuses a list whole, and one of it may be the cause. False: there is nothing more to find out. */
static bool look_for_refused(struct target_sync *sync, const struct client_answer *answer)
{
	bool is_refused = answer->outcome == AWS_REFUSED || answer->outcome == AWS_QUOTA;
	if (!is_refused || sync->what != SENT_REGISTER)
		return false;
	if (sync->sent.count > 1) {
		sync->batch = sync->sent.count / 2;
		return true;
	}
	/* With the quota it is nobody's fault. */
	if (answer->outcome == AWS_QUOTA || sync->refusals.list.count == TARGET_REFUSALS_MAX)
		return false;
	if (targets_have_all(&sync->wanted, &sync->sent))
		target_refusals_add(&sync->refusals, &sync->sent, answer->message);
	return true;
}

static void fail(struct target_sync *sync, const struct client_answer *answer)
{
	struct observed_group *group = find(sync);
	if (answer->outcome == AWS_QUOTA && make_room(sync, group)) {
		step(sync);
		return;
	}
	/* Throttled: the queue slows down by itself; in an outage it waits. */
	if (answer->outcome == AWS_THROTTLED || answer->outcome == AWS_OUTAGE) {
		step(sync);
		return;
	}
	if (look_for_refused(sync, answer)) {
		step(sync);
		return;
	}
	/* It may have been carried out, or in part: it is done again, and the truth is read. */
	if (group != NULL && answer->is_unknown && sync->what != SENT_READ) {
		forget_written(sync);
		group->has_targets = false;
	}
	if (group != NULL)
		group->is_refused = true;
	if (answer->outcome == AWS_NOT_FOUND)
		sync->config.on_missing(sync->config.ctx);
	str_set(&sync->problem, answer->message);
	ev_timer_set(&sync->retry, backoff_next(&sync->backoff), 0.);
	ev_timer_start(sync->config.calls->loop, &sync->retry);
}

static void on_answer(void *ctx, const struct client_answer *answer)
{
	struct target_sync *sync = ctx;
	struct observed_group *group = find(sync);
	/* Another one of that name may have been made meanwhile. */
	bool is_same_group = group != NULL && str_eq(group->group.arn, sync->sent_to);
	if (answer->outcome != AWS_OK) {
		fail(sync, answer);
	} else {
		backoff_succeeded(&sync->backoff);
		str_set(&sync->problem, STR_NONE);
		if (group != NULL)
			group->is_refused = false;
		if (is_same_group && sync->what == SENT_READ)
			take_read(sync, group, answer->xml);
		else if (is_same_group)
			take_written(sync, group);
		step(sync);
	}
	sync->config.on_progress(sync->config.ctx);
}

static void on_retry(struct ev_loop *loop, ev_timer *timer, int events)
{
	step(timer->data);
}

static void on_look(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct target_sync *sync = timer->data;
	sync->is_look_next = true;
	step(sync);
}

static void on_refusals_over(void *ctx)
{
	struct target_sync *sync = ctx;
	sync->batch = REQUESTS_TARGETS_MAX;
	step(sync);
	sync->config.on_progress(sync->config.ctx);
}

/* ---- what is wanted ---- */

/* What we wanted, and maybe registered, and do not want any more. */
static void note_departed(struct target_sync *sync, const struct elb_target_list *now)
{
	struct arena arena;
	arena_init(&arena);
	struct elb_target_list all = targets_union(&sync->departed, &sync->wanted, &arena);
	struct elb_target_list left = targets_minus(&all, now, TARGETS_HELD_MAX, &arena);
	targets_replace(&sync->departed, &left);
	arena_fini(&arena);
}

static void note_handover(struct target_sync *sync, const struct elb_target_list *now,
	const struct elb_target_list *serving)
{
	const struct observed_group *group = find(sync);
	bool is_known = group != NULL && group->has_targets;
	struct arena arena;
	arena_init(&arena);
	struct elb_target_list had =
		targets_union(&sync->wanted, is_known ? &group->targets : &sync->departed, &arena);
	handover_want(
		&sync->handover, sync->has_wanted ? &had : NULL, now, serving, clock_monotonic_s());
	arena_fini(&arena);
}

void target_sync_set(struct target_sync *sync, const struct elb_target_list *targets,
	const struct elb_target_list *serving)
{
	note_handover(sync, targets, serving);
	if (sync->has_wanted && !targets_equal(&sync->wanted, targets)) {
		sync->is_changed = true;
		sync->was_same = false;
		note_departed(sync, targets);
		target_refusals_keep(&sync->refusals, targets);
		if (sync->refusals.reason == NULL)
			sync->batch = REQUESTS_TARGETS_MAX;
		/* A change may be what heals a refusal. */
		ev_timer_stop(sync->config.calls->loop, &sync->retry);
	}
	targets_replace(&sync->wanted, targets);
	sync->has_wanted = true;
	step(sync);
}

void target_sync_wake(struct target_sync *sync)
{
	step(sync);
}

void target_sync_recheck(struct target_sync *sync, enum call_rank rank)
{
	struct observed_group *group = find(sync);
	sync->was_same = target_sync_is_settled(sync);
	if (sync->was_same) {
		targets_fini(&sync->departed);
		sync->is_changed = false;
	}
	sync->read_rank = rank;
	if (group != NULL)
		group->has_targets = false;
	step(sync);
}

void target_sync_start_over(struct target_sync *sync)
{
	struct ev_loop *loop = sync->config.calls->loop;
	/* A write that is under way may be carried out: its answer comes to nothing, for the group is another thing by then. */
	if (!call_is_running(&sync->call))
		call_cancel(&sync->call);
	ev_timer_stop(loop, &sync->retry);
	handover_fini(&sync->handover);
	targets_fini(&sync->departed);
	str_set(&sync->problem, STR_NONE);
	target_refusals_forget(&sync->refusals);
	sync->batch = REQUESTS_TARGETS_MAX;
	sync->is_changed = sync->was_same = false;
	sync->read_rank = RANK_CHANGE;
	step(sync);
}

bool target_sync_is_settled(const struct target_sync *sync)
{
	const struct observed_group *group = find(sync);
	if (group == NULL || sync->problem != NULL || sync->refusals.reason != NULL)
		return false;
	if (!group->has_targets)
		return sync->was_same && !sync->is_changed && sync->departed.count == 0;
	return targets_equal(&group->targets, &sync->wanted);
}

const char *target_sync_problem(const struct target_sync *sync)
{
	return sync->problem != NULL ? sync->problem : sync->refusals.reason;
}

enum requests_health target_sync_health(const struct target_sync *sync)
{
	return sync->health;
}

/* ---- lifecycle ---- */

struct target_sync *target_sync_new(const struct target_sync_config *config, struct str name)
{
	struct target_sync *sync = xcalloc(1, sizeof(*sync));
	sync->config = *config;
	sync->name = str_dup(name);
	sync->read_rank = RANK_SWEEP;
	sync->batch = REQUESTS_TARGETS_MAX;
	arena_init(&sync->sent_arena);
	backoff_init(&sync->backoff, RETRY_FIRST_S, RETRY_CAP_S);
	call_init(&sync->call, config->calls, on_turn, on_answer, sync);
	ev_init(&sync->retry, on_retry);
	ev_init(&sync->look, on_look);
	sync->retry.data = sync->look.data = sync;
	target_refusals_init(&sync->refusals, config->calls->loop, on_refusals_over, sync);
	handover_init(&sync->handover);
	return sync;
}

void target_sync_free(struct target_sync *sync)
{
	if (sync == NULL)
		return;
	call_cancel(&sync->call);
	ev_timer_stop(sync->config.calls->loop, &sync->retry);
	ev_timer_stop(sync->config.calls->loop, &sync->look);
	target_refusals_forget(&sync->refusals);
	handover_fini(&sync->handover);
	targets_fini(&sync->wanted);
	targets_fini(&sync->departed);
	arena_fini(&sync->sent_arena);
	free(sync->problem);
	free(sync->name);
	free(sync);
}

struct str target_sync_name(const struct target_sync *sync)
{
	return str_from(sync->name);
}

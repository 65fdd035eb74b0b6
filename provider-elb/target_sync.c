// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/target_sync.h"

#include "common/backoff.h"
#include "common/xalloc.h"
#include "provider-elb/targets.h"

#include <stdlib.h>

enum {
	TARGETS_HELD_MAX = 2000, /* of one list that is kept: wanted_targets() gives fewer */
	REFUSED_MAX = 8,         /* targets that are left out because AWS refuses them */
};

static const double RETRY_FIRST_S = 1;
static const double RETRY_CAP_S = 60;
static const double REFUSED_S = 300;

struct target_sync {
	struct target_sync_config config;
	char *name;
	struct elb_target_list wanted;
	bool has_wanted;
	/* While it is not known what is registered: what has to be written all the same, because it was changed by us. */
	struct elb_target_list departed; /* to be deregistered */
	bool is_changed;                 /* all of `wanted` has to be registered */
	bool was_same; /* as wanted when it was compared last: that counts while it is read again */
	/* Those that AWS refuses by themselves, until the timer lets them be tried again. */
	struct elb_target_list refused;
	char *refusal; /* why; NULL: there are none */
	ev_timer refused_over;
	size_t batch; /* how many are sent together: fewer while one that is refused is looked for */
	struct call call;
	struct arena sent_arena;
	/* Of the call under way; in sent_arena. */
	struct elb_target_list sent;
	struct str sent_to; /* ARN of the group */
	enum { SENT_NOTHING, SENT_REGISTER, SENT_DEREGISTER, SENT_READ } what;
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
		targets_minus(&sync->wanted, &sync->refused, sync->wanted.count, arena);
	/* What was registered in this life without knowing the rest is in group->targets, too. */
	return targets_minus(&wanted, &group->targets, sync->batch, arena);
}

static struct elb_target_list removals(
	const struct target_sync *sync, const struct observed_group *group, struct arena *arena)
{
	return targets_minus(group->has_targets ? &group->targets : &sync->departed, &sync->wanted,
		REQUESTS_TARGETS_MAX, arena);
}

static bool make(struct target_sync *sync, struct arena *arena, struct request *ret_request)
{
	const struct observed_group *group = find(sync);
	sync->what = SENT_NOTHING;
	if (group == NULL)
		return false;
	arena_reset(&sync->sent_arena);
	sync->sent_to = arena_str(&sync->sent_arena, group->group.arn);
	sync->sent = additions(sync, group, &sync->sent_arena);
	if (sync->sent.count != 0)
		sync->what = SENT_REGISTER;
	if (sync->what == SENT_NOTHING) {
		sync->sent = removals(sync, group, &sync->sent_arena);
		if (sync->sent.count != 0)
			sync->what = SENT_DEREGISTER;
	}
	if (sync->what != SENT_NOTHING) {
		for (size_t i = 0; i < sync->sent.count; i++)
			sync->sent.items[i].ip =
				arena_str(&sync->sent_arena, sync->sent.items[i].ip);
		requests_targets(group->group.arn, &sync->sent, sync->what == SENT_REGISTER, arena,
			ret_request);
		return true;
	}
	if (group->has_targets)
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

static void step(struct target_sync *sync)
{
	struct request request = {.service = AWS_ELB};
	struct observed_group *group = find(sync);
	if (group == NULL || call_is_running(&sync->call) || ev_is_active(&sync->retry))
		return;
	note_supplied(sync, group);
	struct arena arena;
	arena_init(&arena);
	if (!make(sync, &arena, &request))
		call_cancel(&sync->call);
	else if (sync->what == SENT_READ && group->balancer_arn != NULL)
		call_join(&sync->call, &request, sync->read_rank);
	else
		call_join(&sync->call, &request, RANK_CHANGE);
	arena_fini(&arena);
}

/* ---- lists that are kept ---- */

static void replace(struct elb_target_list *list, const struct elb_target_list *with)
{
	struct elb_target_list kept;
	targets_copy(&kept, with);
	targets_fini(list);
	*list = kept;
}

static void add_departed(struct target_sync *sync, const struct elb_target_list *targets)
{
	struct arena arena;
	arena_init(&arena);
	struct elb_target_list all = targets_union(&sync->departed, targets, &arena);
	replace(&sync->departed, &all);
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
		add_departed(sync, &sync->sent);
}

static void take_read(struct target_sync *sync, struct observed_group *group, const struct xml *xml)
{
	sync->health = answers_health(xml, group);
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
	for (size_t i = 0; i < sync->sent.count; i++) {
		if (sync->what == SENT_REGISTER)
			observed_add_target(group, &sync->sent.items[i]);
		else
			observed_remove_target(group, &sync->sent.items[i]);
	}
	struct arena arena;
	arena_init(&arena);
	if (sync->what == SENT_DEREGISTER) {
		struct elb_target_list rest =
			targets_minus(&sync->departed, &sync->sent, TARGETS_HELD_MAX, &arena);
		replace(&sync->departed, &rest);
	}
	if (targets_have_all(&group->targets, &sync->wanted))
		sync->is_changed = false;
	arena_fini(&arena);
}

/* The only one of the call under way. */
static void leave_out(struct target_sync *sync, struct str reason)
{
	struct arena arena;
	arena_init(&arena);
	struct elb_target_list more = targets_union(&sync->refused, &sync->sent, &arena);
	replace(&sync->refused, &more);
	arena_fini(&arena);
	str_set(&sync->refusal, reason);
	if (ev_is_active(&sync->refused_over))
		return;
	ev_timer_set(&sync->refused_over, REFUSED_S, 0.);
	ev_timer_start(sync->config.calls->loop, &sync->refused_over);
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
	if (answer->outcome == AWS_QUOTA || sync->refused.count == REFUSED_MAX)
		return false;
	if (targets_have_all(&sync->wanted, &sync->sent))
		leave_out(sync, answer->message);
	return true;
}

static void fail(struct target_sync *sync, const struct client_answer *answer)
{
	struct observed_group *group = find(sync);
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

static void forget_refused(struct target_sync *sync)
{
	ev_timer_stop(sync->config.calls->loop, &sync->refused_over);
	targets_fini(&sync->refused);
	str_set(&sync->refusal, STR_NONE);
	sync->batch = REQUESTS_TARGETS_MAX;
}

static void on_refused_over(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct target_sync *sync = timer->data;
	forget_refused(sync);
	step(sync);
	sync->config.on_progress(sync->config.ctx);
}

/* ---- what is wanted ---- */

/* What we wanted, and maybe registered, and do not want any more. */
static void note_departed(struct target_sync *sync, const struct elb_target_list *now)
{
	struct arena arena;
	arena_init(&arena);
	struct elb_target_list left = targets_minus(&sync->wanted, now, TARGETS_HELD_MAX, &arena);
	struct elb_target_list before =
		targets_minus(&sync->departed, now, TARGETS_HELD_MAX, &arena);
	replace(&sync->departed, &before);
	add_departed(sync, &left);
	arena_fini(&arena);
}

/* What is refused, and still wanted. */
static void keep_refused(struct target_sync *sync, const struct elb_target_list *now)
{
	struct arena arena;
	arena_init(&arena);
	struct elb_target_list gone = targets_minus(&sync->refused, now, REFUSED_MAX, &arena);
	struct elb_target_list left = targets_minus(&sync->refused, &gone, REFUSED_MAX, &arena);
	replace(&sync->refused, &left);
	if (sync->refused.count == 0)
		forget_refused(sync);
	arena_fini(&arena);
}

static bool is_same(const struct elb_target_list *a, const struct elb_target_list *b)
{
	return a->count == b->count && targets_have_all(a, b);
}

void target_sync_set(struct target_sync *sync, const struct elb_target_list *targets)
{
	if (sync->has_wanted && !is_same(&sync->wanted, targets)) {
		sync->is_changed = true;
		sync->was_same = false;
		note_departed(sync, targets);
		keep_refused(sync, targets);
		/* A change may be what heals a refusal. */
		ev_timer_stop(sync->config.calls->loop, &sync->retry);
	}
	targets_fini(&sync->wanted);
	targets_copy(&sync->wanted, targets);
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
	targets_fini(&sync->departed);
	str_set(&sync->problem, STR_NONE);
	forget_refused(sync);
	sync->is_changed = sync->was_same = false;
	sync->read_rank = RANK_CHANGE;
	step(sync);
}

bool target_sync_is_settled(const struct target_sync *sync)
{
	const struct observed_group *group = find(sync);
	if (group == NULL || sync->problem != NULL || sync->refusal != NULL)
		return false;
	if (!group->has_targets)
		return sync->was_same && !sync->is_changed && sync->departed.count == 0;
	return is_same(&group->targets, &sync->wanted);
}

const char *target_sync_problem(const struct target_sync *sync)
{
	return sync->problem != NULL ? sync->problem : sync->refusal;
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
	ev_init(&sync->refused_over, on_refused_over);
	sync->retry.data = sync->refused_over.data = sync;
	return sync;
}

void target_sync_free(struct target_sync *sync)
{
	if (sync == NULL)
		return;
	call_cancel(&sync->call);
	ev_timer_stop(sync->config.calls->loop, &sync->retry);
	ev_timer_stop(sync->config.calls->loop, &sync->refused_over);
	targets_fini(&sync->wanted);
	targets_fini(&sync->departed);
	targets_fini(&sync->refused);
	arena_fini(&sync->sent_arena);
	free(sync->problem);
	free(sync->refusal);
	free(sync->name);
	free(sync);
}

struct str target_sync_name(const struct target_sync *sync)
{
	return str_from(sync->name);
}

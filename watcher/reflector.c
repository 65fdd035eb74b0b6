// SPDX-License-Identifier: Apache-2.0
#include "watcher/reflector.h"

#include "common/backoff.h"
#include "common/clock.h"
#include "common/must.h"
#include "common/xalloc.h"
#include "proto/message.h"
#include "watcher/log_events.h"
#include "watcher/metrics.h"
#include "watcher/reflector_requests.h"
#include "watcher/resync.h"

#include <stdio.h>

enum { PROBLEM_LEN = 768 };
/* Data older than this makes the process not ready; a refusal does at once. */
static const double STALE_S = 10.0;

struct reflector {
	struct reflector_config config;
	struct reflector_fsm fsm;
	struct intake intake;
	struct channel *main;
	struct channel *second;
	char *next_page; /* NULL: the first page */
	ev_timer wait;
	ev_timer silence;
	ev_timer progress; /* of a streaming list */
	struct resync resync;
	bool synced;
	double heard_at;
	double current_at;    /* while not following: when the data was last known to be current */
	double failing_since; /* 0: it works */
	bool is_refused;      /* 401 or 403 */
	bool is_outage; /* the latest failure was an unreachable server, or one still starting */
	char problem[PROBLEM_LEN];
	const char *verb; /* of the last request */
};

static void count(const struct reflector *r, enum watcher_metric metric)
{
	metric_add(&watcher_metrics[metric], (unsigned)r->config.version->kind - 1, 1);
}

static struct log_field kind_field(const struct reflector *r)
{
	return LOG_STR("kind", record_kind_word(r->config.version->kind));
}

static struct log_field namespace_field(const struct reflector *r)
{
	return LOG_STR("namespace", r->config.namespace != NULL ? r->config.namespace : "");
}

static struct str scope_of(const struct reflector *r)
{
	return str_from(r->config.namespace);
}

/* ---- problems ---- */

static void note_problem(struct reflector *r, const char *why)
{
	char *resource = kind_full_resource(r->config.version);
	snprintf(r->problem, sizeof(r->problem), "%s %s%s%s: %s", r->verb, resource,
		r->config.namespace != NULL ? " in namespace " : "",
		r->config.namespace != NULL ? r->config.namespace : "", why);
	free(resource);
}

double reflector_age_s(const struct reflector *r)
{
	return reflector_fsm_is_following(&r->fsm) ? 0 : clock_monotonic_s() - r->current_at;
}

const char *reflector_problem(const struct reflector *r)
{
	if (r->synced && !r->is_refused && reflector_age_s(r) < STALE_S)
		return NULL;
	if (r->failing_since > 0)
		return r->problem;
	return r->synced ? "no answer yet" : "first list";
}

static void log_failure(
	struct reflector *r, enum reflector_event event, const struct reflector_output *out)
{
	log_event(
		event == REFLECTOR_EV_FORBIDDEN && r->is_refused ? &EV_FORBIDDEN : &EV_WATCH_FAILED,
		kind_field(r), namespace_field(r), LOG_STR("cause", reflector_event_name(event)),
		LOG_STR("reason", r->problem), LOG_SECONDS("retry_s", out->wait_s));
}

static void fail(
	struct reflector *r, enum reflector_event event, const struct reflector_output *out)
{
	count(r, WATCHER_FAILURES);
	if (r->failing_since <= 0)
		r->failing_since = clock_monotonic_s();
	bool is_refused = event == REFLECTOR_EV_FORBIDDEN || event == REFLECTOR_EV_UNAUTHORIZED;
	/* A server that has just started refuses requests until it has loaded its authorization rules. */
	r->is_outage = event == REFLECTOR_EV_UNREACHABLE || event == REFLECTOR_EV_CUT ||
		       event == REFLECTOR_EV_TROUBLE || (is_refused && r->is_outage);
	r->is_refused = is_refused && !r->is_outage;
	log_failure(r, event, out);
	r->config.ops->on_health(r->config.ctx, r, -1);
}

static void recover(struct reflector *r)
{
	if (r->failing_since <= 0)
		return;
	double outage_s = clock_monotonic_s() - r->failing_since;
	r->failing_since = 0;
	r->is_refused = r->is_outage = false;
	log_event(&EV_WATCH_RECOVERED, kind_field(r), namespace_field(r),
		LOG_SECONDS("after_s", outage_s));
	r->config.ops->on_health(r->config.ctx, r, outage_s);
}

/* ---- requests ---- */

static const struct channel_ops channel_ops;

static struct reflector_request request_of(struct reflector *r, const char *verb)
{
	r->verb = verb;
	return (struct reflector_request){
		.channel =
			{
				.loop = r->config.loop,
				.api = r->config.api,
				.intake = &r->intake,
				.ops = &channel_ops,
				.ctx = r,
			},
		.config = &r->config,
		.fsm = &r->fsm,
	};
}

/* ---- actions ---- */

static void begin_wait(struct reflector *r, const struct reflector_output *out)
{
	ev_timer_stop(r->config.loop, &r->wait);
	ev_timer_set(&r->wait, out->wait_s + out->wait_jitter_s * backoff_random(), 0.);
	ev_timer_start(r->config.loop, &r->wait);
}

static void end_sync(struct reflector *r)
{
	bool is_first = !r->synced;
	r->synced = true;
	count(r, WATCHER_LISTS);
	log_event(is_first ? &EV_KIND_SYNCED : &EV_KIND_RESYNCED, kind_field(r), namespace_field(r),
		LOG_STR("version", r->config.version->group_version),
		LOG_INT("objects", r->config.store->counts[r->config.version->kind]),
		LOG_STR("revision", r->fsm.revision.text));
	if (is_first)
		r->config.ops->on_synced(r->config.ctx, r);
}

static void sweep(struct reflector *r)
{
	size_t missed = 0;
	/* The missing object may be one without a readable name: then nothing counts as deleted. */
	if (r->intake.has_nameless)
		return;
	if (store_sweep_named(r->config.store, r->config.version->kind, scope_of(r),
		    str_from(r->config.name), &missed) != 0)
		r->config.ops->on_changed(r->config.ctx);
	resync_listed(&r->resync, missed);
	if (missed != 0)
		log_event(&EV_LIST_LACKS, kind_field(r), namespace_field(r),
			LOG_INT("objects", missed), LOG_SECONDS("retry_s", RESYNC_SECOND_LIST_S));
}

static void refuse_streams(struct reflector *r)
{
	if (!r->config.traits->refuses_streams)
		log_event(&EV_NO_STREAMING_LISTS, LOG_STR("reason", r->problem));
	r->config.traits->refuses_streams = true;
}

static void replace(struct channel **place, struct channel *by)
{
	channel_free(*place);
	*place = by;
}

static void set_next_page(struct reflector *r, const char *token)
{
	char *copy = token != NULL && token[0] != '\0' ? xstrdup(token) : NULL;
	free(r->next_page);
	r->next_page = copy;
}

static void note_activity(struct reflector *r, enum reflector_event event)
{
	switch (event) {
	case REFLECTOR_EV_CHANGE:
		count(r, WATCHER_CHANGES);
		[[fallthrough]];
	case REFLECTOR_EV_PAGE:
	case REFLECTOR_EV_LISTED:
	case REFLECTOR_EV_OPENED:
	case REFLECTOR_EV_BOOKMARK:
	case REFLECTOR_EV_MARKED:
		r->heard_at = clock_monotonic_s();
		return;
	default:
		return;
	}
}

static void act(struct reflector *r, enum reflector_action_bit bit, enum reflector_event event,
	const struct reflector_output *out)
{
	switch (bit) {
	case REFLECTOR_BIT_CANCEL:
		replace(&r->main, NULL);
		ev_timer_stop(r->config.loop, &r->wait);
		return;
	case REFLECTOR_BIT_CANCEL_SECOND:
		replace(&r->second, NULL);
		return;
	case REFLECTOR_BIT_SWAP:
		log_event(&EV_WATCH_REPLACED, kind_field(r), namespace_field(r));
		replace(&r->main, r->second);
		r->second = NULL;
		return;
	case REFLECTOR_BIT_NO_STREAMS:
		refuse_streams(r);
		return;
	case REFLECTOR_BIT_MARK:
		r->intake.has_nameless = false;
		store_unsee_named(r->config.store, r->config.version->kind, scope_of(r),
			str_from(r->config.name));
		return;
	case REFLECTOR_BIT_SWEEP:
		sweep(r);
		return;
	case REFLECTOR_BIT_SYNCED:
		end_sync(r);
		return;
	case REFLECTOR_BIT_HEALTHY:
		recover(r);
		return;
	case REFLECTOR_BIT_FAILED:
		fail(r, event, out);
		return;
	case REFLECTOR_BIT_RELIST:
		log_event(&EV_RELIST, kind_field(r), namespace_field(r),
			LOG_STR("reason", r->problem));
		return;
	case REFLECTOR_BIT_STREAM:
		replace(&r->main, reflector_open_watch(request_of(r, "watch"), true));
		return;
	case REFLECTOR_BIT_LIST:
		set_next_page(r, NULL);
		[[fallthrough]];
	case REFLECTOR_BIT_NEXT:
		replace(&r->main, reflector_open_page(request_of(r, "list"), r->next_page));
		return;
	case REFLECTOR_BIT_CHECK:
		replace(&r->main, reflector_open_check(request_of(r, "list")));
		return;
	case REFLECTOR_BIT_WATCH:
		replace(&r->main, reflector_open_watch(request_of(r, "watch"), false));
		return;
	case REFLECTOR_BIT_SECOND:
		r->second = reflector_open_watch(request_of(r, "watch"), false);
		return;
	case REFLECTOR_BIT_WAIT:
		begin_wait(r, out);
		return;
	case REFLECTOR_BIT_REDISCOVER:
		r->config.ops->on_lost(r->config.ctx, r);
		return;
	case REFLECTOR_BIT_COUNT:
		return;
	}
}

/* ---- state machine ---- */

static void restart_timer(struct reflector *r, ev_timer *timer, double after_s)
{
	timer->repeat = after_s;
	if (after_s > 0)
		ev_timer_again(r->config.loop, timer);
	else
		ev_timer_stop(r->config.loop, timer);
}

/* Timers follow from the state; every event is a sign of life. */
static void set_timers(struct reflector *r, enum reflector_event event)
{
	restart_timer(r, &r->silence, reflector_fsm_silence_s(&r->fsm));
	if (r->fsm.state != REFLECTOR_STATE_STREAMING)
		restart_timer(r, &r->progress, 0);
	/* Bookmarks without the initial-events-end mark are no progress. */
	else if (event != REFLECTOR_EV_BOOKMARK)
		restart_timer(r, &r->progress, r->config.options->stream_timeout_s);
}

/* A connection that breaks was alive until then; a silent one may have been dead since the last event. */
static void note_following(struct reflector *r, bool was_following, enum reflector_event event)
{
	bool is_silence = event == REFLECTOR_EV_SILENT || event == REFLECTOR_EV_DEADLINE;
	if (reflector_fsm_is_following(&r->fsm) == was_following)
		return;
	if (was_following)
		r->current_at = is_silence ? r->heard_at : clock_monotonic_s();
	r->config.ops->on_following(r->config.ctx, r);
}

static void handle_event(
	struct reflector *r, enum reflector_event event, struct str revision, double retry_after_s)
{
	const struct reflector_traits *traits = r->config.traits;
	enum reflector_state before = r->fsm.state;
	bool was_following = reflector_fsm_is_following(&r->fsm);
	struct reflector_input input = {
		.event = event,
		.now = clock_monotonic_s(),
		.revision = revision,
		.may_stream = traits->wants_streams && !traits->refuses_streams,
		.retry_after_s = retry_after_s,
	};
	note_activity(r, event);
	struct reflector_output out = reflector_fsm_step(&r->fsm, &input);
	if (log_enabled(LOG_LEVEL_DEBUG) && r->fsm.state != before)
		log_event(&EV_REFLECTOR_STATE, kind_field(r), namespace_field(r),
			LOG_STR("from", reflector_state_name(before)),
			LOG_STR("event", reflector_event_name(event)),
			LOG_STR("to", reflector_state_name(r->fsm.state)));
	if (out.went_back)
		log_event(&EV_REVISION_WENT_BACK, kind_field(r), namespace_field(r),
			LOG_TEXT("revision", revision));
	set_timers(r, event);
	note_following(r, was_following, event);
	for (int bit = 0; bit < REFLECTOR_BIT_COUNT; bit++) {
		if ((out.actions & (1u << bit)) != 0)
			act(r, (enum reflector_action_bit)bit, event, &out);
	}
}

/* ---- events of channels and timers ---- */

static void on_channel_event(void *ctx, struct channel *channel, enum reflector_event event,
	struct str revision, double retry_after_s)
{
	struct reflector *r = ctx;
	if (reflector_event_is_failure(event))
		note_problem(r, channel_problem(channel));
	if (event == REFLECTOR_EV_PAGE)
		set_next_page(r, channel_next_page(channel));
	if (channel == r->second) {
		if (event == REFLECTOR_EV_OPENED)
			event = REFLECTOR_EV_SECOND_OPENED;
		/* If the revision is gone for the second watch, it is gone for the first one as well. */
		else if (event != REFLECTOR_EV_GONE)
			event = REFLECTOR_EV_SECOND_FAILED;
	}
	handle_event(r, event, revision, retry_after_s);
}

static void on_channel_batch(void *ctx)
{
	struct reflector *r = ctx;
	r->config.ops->on_changed(r->config.ctx);
}

static const struct channel_ops channel_ops = {
	.on_event = on_channel_event,
	.on_batch = on_channel_batch,
};

static void on_wait(struct ev_loop *loop, ev_timer *timer, int events)
{
	handle_event(timer->data, REFLECTOR_EV_TIMER, STR_NONE, -1);
}

static void on_silence(struct ev_loop *loop, ev_timer *timer, int events)
{
	handle_event(timer->data, REFLECTOR_EV_SILENT, STR_NONE, -1);
}

static void on_no_progress(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct reflector *r = timer->data;
	note_problem(r, "a streaming list did not end");
	handle_event(r, REFLECTOR_EV_UNMARKED, STR_NONE, -1);
}

static void on_resync(void *ctx)
{
	handle_event(ctx, REFLECTOR_EV_RESYNC, STR_NONE, -1);
}

/* ---- lifecycle ---- */

static void on_refused(void *ctx, const struct project_meta *meta, const char *why)
{
	struct reflector *r = ctx;
	log_event(&EV_OBJECT_REFUSED, kind_field(r), LOG_TEXT("namespace", meta->namespace),
		LOG_TEXT("name", meta->name), LOG_STR("reason", why));
	r->config.ops->on_refused(r->config.ctx, r, meta, why);
}

struct reflector *reflector_new(const struct reflector_config *config)
{
	struct reflector *r = xcalloc(1, sizeof(*r));
	r->config = *config;
	r->heard_at = r->current_at = clock_monotonic_s();
	r->verb = "list";
	reflector_fsm_init(&r->fsm, &config->options->limits);
	intake_init(
		&r->intake, config->version, config->store, &config->options->ours, on_refused, r);
	r->intake.is_named = config->name != NULL;
	ev_init(&r->wait, on_wait);
	ev_init(&r->silence, on_silence);
	ev_init(&r->progress, on_no_progress);
	r->wait.data = r->silence.data = r->progress.data = r;
	resync_start(&r->resync, config->loop, config->options->resync_s, on_resync, r);
	handle_event(r, REFLECTOR_EV_START, STR_NONE, -1);
	return r;
}

void reflector_free(struct reflector *r)
{
	if (r == NULL)
		return;
	channel_free(r->main);
	channel_free(r->second);
	ev_timer_stop(r->config.loop, &r->wait);
	ev_timer_stop(r->config.loop, &r->silence);
	ev_timer_stop(r->config.loop, &r->progress);
	resync_stop(&r->resync);
	intake_fini(&r->intake);
	free(r->next_page);
	free(r);
}

void reflector_restart(struct reflector *r, const struct kind_version *version)
{
	must(version->kind == r->config.version->kind);
	r->config.version = version;
	r->intake.version = version;
	handle_event(r, REFLECTOR_EV_START, STR_NONE, -1);
}

void reflector_reachable(struct reflector *r)
{
	if (r->fsm.state == REFLECTOR_STATE_WAITING && r->is_outage)
		handle_event(r, REFLECTOR_EV_TIMER, STR_NONE, -1);
}

void reflector_hurry(struct reflector *r)
{
	if (r->fsm.state == REFLECTOR_STATE_WAITING)
		handle_event(r, REFLECTOR_EV_TIMER, STR_NONE, -1);
}

const struct kind_version *reflector_version(const struct reflector *r)
{
	return r->config.version;
}

const char *reflector_namespace(const struct reflector *r)
{
	return r->config.namespace;
}

double reflector_heard_at(const struct reflector *r)
{
	return r->heard_at;
}

bool reflector_is_synced(const struct reflector *r)
{
	return r->synced;
}

bool reflector_is_settled(const struct reflector *r, double patience_s)
{
	bool is_failing = r->failing_since > 0;
	return r->synced || r->is_refused ||
	       (is_failing && clock_monotonic_s() - r->failing_since >= patience_s);
}

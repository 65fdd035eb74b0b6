// SPDX-License-Identifier: Apache-2.0
#include "provider-common/provider.h"

#include "common/clock.h"
#include "common/must.h"
#include "common/xalloc.h"
#include "proto/leadership.h"
#include "provider-common/log_events.h"
#include "provider-common/metrics.h"
#include "provider-common/reports.h"

#include <errno.h>

struct provider {
	struct provider_config config;
	struct link *link; /* NULL: this connection was given to another provider */
	ev_timer pause;
	char *socket_path;
	struct state *state;
	struct reports *reports;
	struct arena arena;
	/* Runs before the loop sleeps if there may be something to send. */
	ev_prepare sender;
	struct leadership lead;
	bool may_act;
	ev_timer lead_end;
	bool is_begun;         /* the snapshot of this connection has begun */
	bool is_told_snapshot; /* the snapshot of this connection is complete */
	uint64_t commits;      /* of this connection */
	uint64_t serial;       /* of the last commit */
	bool is_applied;       /* what was committed is in force */
	uint64_t
		told_applied; /* serial of the last commit that was reported as applied; 0: none of this connection */
};

/* ---- to the translator ---- */

/* Nothing is sent before the translator has said what it wants: a status of something about to be
 * removed would only confuse it. */
static bool may_send(const struct provider *provider)
{
	return provider->link != NULL && link_is_up(provider->link) && provider->is_told_snapshot &&
	       !link_is_full(provider->link);
}

/* After the statuses, which say what the load balancers show. */
static void send_applied(struct provider *provider)
{
	struct lb_applied message = {.serial = provider->serial};
	if (!provider->is_applied || provider->told_applied == provider->serial ||
		!may_send(provider))
		return;
	must(link_send(provider->link, MESSAGE_LB_APPLIED, &message) == 0);
	provider->told_applied = provider->serial;
}

static void send_reports(struct provider *provider)
{
	struct str payload;
	reports_set_time(provider->reports, clock_monotonic_s());
	while (may_send(provider) && reports_take(provider->reports, &payload))
		link_send_payload(provider->link, payload);
	send_applied(provider);
}

static void on_sender(struct ev_loop *loop, ev_prepare *watcher, int events)
{
	struct provider *provider = watcher->data;
	/* What cannot be sent now is sent when there is room, or when the link is up again. */
	ev_prepare_stop(loop, watcher);
	send_reports(provider);
}

void provider_status_changed(struct provider *provider, struct object *load_balancer)
{
	reports_mark(provider->reports, load_balancer);
	ev_prepare_start(provider->config.loop, &provider->sender);
}

void provider_status_same(struct provider *provider, struct object *load_balancer)
{
	reports_set_time(provider->reports, clock_monotonic_s());
	reports_note_same(provider->reports, load_balancer);
}

void provider_set_applied(struct provider *provider, bool is_applied)
{
	provider->is_applied = is_applied;
	if (is_applied && provider->told_applied != provider->serial)
		ev_prepare_start(provider->config.loop, &provider->sender);
}

void provider_event(struct provider *provider, const struct lb_event *event)
{
	reports_add_event(provider->reports, event);
	ev_prepare_start(provider->config.loop, &provider->sender);
}

static bool fill_status(
	void *ctx, struct object *load_balancer, struct arena *arena, struct lb_status *status)
{
	struct provider *provider = ctx;
	return provider->config.ops->fill_status(
		provider->config.ctx, load_balancer, arena, status);
}

static void on_unsendable(void *ctx, struct str id, const char *why)
{
	log_event(&EV_REPORT_UNSENDABLE, LOG_TEXT("lb", id), LOG_STR("reason", why));
}

/* ---- leadership ---- */

bool provider_may_act(const struct provider *provider)
{
	return leadership_holds(&provider->lead, leadership_clock_ms());
}

static void check_lead(struct provider *provider)
{
	uint64_t left_ms = leadership_left_ms(&provider->lead, leadership_clock_ms());
	bool may_act = left_ms != 0;
	ev_timer_stop(provider->config.loop, &provider->lead_end);
	if (may_act && left_ms != UINT64_MAX) {
		ev_timer_set(&provider->lead_end, (double)left_ms / 1000, 0.);
		ev_timer_start(provider->config.loop, &provider->lead_end);
	}
	if (may_act == provider->may_act)
		return;
	provider->may_act = may_act;
	log_event(may_act ? &EV_LEADS : &EV_FOLLOWS);
	if (provider->config.ops->on_lead != NULL)
		provider->config.ops->on_lead(provider->config.ctx, may_act);
}

static void on_lead_end(struct ev_loop *loop, ev_timer *timer, int events)
{
	check_lead(timer->data);
}

static int take_lead(struct provider *provider, struct link *link, const struct message *message)
{
	struct lead lead;
	int err = link_decode(link, message, &provider->arena, &lead);
	arena_reset(&provider->arena);
	if (err != 0)
		return err;
	leadership_take(&provider->lead, &lead);
	check_lead(provider);
	return 0;
}

/* ---- from the translator ---- */

static int take_upsert(struct provider *provider, struct link *link, const struct message *message)
{
	struct schema_error error = {""};
	/* A kind that exists only on the source link. */
	if (message->lb_kind == LB_NONE)
		return 0;
	int err = state_stage_upsert(provider->state, message, &provider->arena, &error);
	arena_reset(&provider->arena);
	if (err != 0)
		link_complain(link, "upsert: %s", error.text);
	return err;
}

static int take_remove(struct provider *provider, struct link *link, const struct message *message)
{
	struct schema_error error = {""};
	struct lb_remove remove;
	int err = link_decode(link, message, &provider->arena, &remove);
	if (err != 0)
		return err;
	err = state_stage_remove(provider->state, &remove, &error);
	arena_reset(&provider->arena);
	if (err != 0)
		link_complain(link, "remove: %s", error.text);
	return err;
}

static void forget_removed(struct provider *provider, const struct state_commit *commit)
{
	for (size_t i = 0; i < commit->change_count; i++) {
		struct object *object = commit->changes[i].object;
		if (commit->changes[i].type == STATE_REMOVED &&
			object_kind(object) == LB_LOAD_BALANCER)
			reports_forget(provider->reports, object);
	}
}

static void note_changes(struct provider *provider, const struct state_commit *commit)
{
	reports_set_time(provider->reports, clock_monotonic_s());
	for (size_t i = 0; i < commit->touched_count; i++)
		reports_note_change(provider->reports, commit->touched[i]);
	if (provider->config.want_touched || commit->change_count == 0)
		return;
	/* Merged: one change affects all of them. */
	struct object *object = state_first(provider->state, LB_LOAD_BALANCER);
	for (; object != NULL; object = state_next(provider->state, object))
		reports_note_change(provider->reports, object);
}

/* On a new connection everything is reported again. */
static void mark_all(struct provider *provider)
{
	struct object *object = state_first(provider->state, LB_LOAD_BALANCER);
	for (; object != NULL; object = state_next(provider->state, object))
		provider_status_changed(provider, object);
}

static int take_commit(struct provider *provider, struct link *link, const struct message *message)
{
	struct lb_commit body;
	struct state_commit commit;
	int err = link_decode(link, message, &provider->arena, &body);
	arena_reset(&provider->arena);
	if (err != 0)
		return err;
	if (provider->commits != 0 && body.serial != provider->serial + 1) {
		link_complain(link, "commit: serial %llu follows %llu",
			(unsigned long long)body.serial, (unsigned long long)provider->serial);
		return -EPROTO;
	}
	provider->commits++;
	provider->serial = body.serial;
	state_commit(provider->state, &commit);
	metric_add(&provider_metrics[PROVIDER_COMMITS], 0, 1);
	forget_removed(provider, &commit);
	note_changes(provider, &commit);
	provider->config.ops->on_commit(provider->config.ctx, &commit);
	state_commit_done(provider->state);
	if (commit.is_snapshot) {
		provider->is_told_snapshot = true;
		log_event(&EV_SNAPSHOT_COMPLETE,
			LOG_INT("load_balancers", state_count(provider->state, LB_LOAD_BALANCER)),
			LOG_INT("virtual_hosts", state_count(provider->state, LB_VIRTUAL_HOST)),
			LOG_INT("pools", state_count(provider->state, LB_POOL)),
			LOG_INT("certificates", state_count(provider->state, LB_CERTIFICATE)));
		mark_all(provider);
	}
	return 0;
}

static int on_message(void *ctx, struct link *link, const struct message *message)
{
	struct provider *provider = ctx;
	if (message->type == MESSAGE_LEAD)
		return take_lead(provider, link, message);
	if (message->type == MESSAGE_SYNC_BEGIN) {
		(void)leadership_settle(&provider->lead);
		check_lead(provider);
		provider->is_begun = true;
		state_begin_snapshot(provider->state);
		return 0;
	}
	if (!provider->is_begun) {
		link_complain(link, "%s before sync-begin", message_word(message->type));
		return -EPROTO;
	}
	switch (message->type) {
	case MESSAGE_UPSERT:
		return take_upsert(provider, link, message);
	case MESSAGE_REMOVE:
		return take_remove(provider, link, message);
	case MESSAGE_COMMIT:
		return take_commit(provider, link, message);
	default:
		link_complain(link, "%s is not for a provider", message_word(message->type));
		return -EPROTO;
	}
}

/* ---- link ---- */

static const char *on_up(void *ctx, struct link *link, const struct hello *peer)
{
	struct provider *provider = ctx;
	leadership_connected(&provider->lead);
	provider->is_begun = false;
	provider->is_told_snapshot = false;
	provider->commits = 0;
	provider->told_applied = 0;
	reports_forget_told(provider->reports);
	if (provider->config.ops->on_link != NULL)
		provider->config.ops->on_link(provider->config.ctx, true);
	return NULL;
}

static void on_down(void *ctx, struct link *link)
{
	struct provider *provider = ctx;
	state_drop_staged(provider->state);
	provider->is_told_snapshot = false;
	if (provider->config.ops->on_link != NULL)
		provider->config.ops->on_link(provider->config.ctx, false);
}

static void on_dry(void *ctx, struct link *link)
{
}

static void on_room(void *ctx, struct link *link)
{
	send_reports(ctx);
}

static const struct link_ops link_ops = {
	.on_up = on_up,
	.on_message = on_message,
	.on_dry = on_dry,
	.on_room = on_room,
	.on_down = on_down,
};

static const struct reports_ops reports_ops = {
	.fill_status = fill_status,
	.on_unsendable = on_unsendable,
};

/* ---- connection ---- */

static void connect_link(struct provider *provider)
{
	const struct provider_config *config = &provider->config;
	struct link_config link_config = {
		.loop = config->loop,
		.path = provider->socket_path,
		.hello =
			{
				.version_min = PROTO_VERSION_MIN,
				.version_max = PROTO_VERSION_MAX,
				.role = ROLE_PROVIDER,
				.name = config->name,
				.software = config->software,
				.capabilities = config->capabilities,
			},
		.peer_role = ROLE_TRANSLATOR,
		.ops = &link_ops,
		.ctx = provider,
	};
	provider->link = link_connect(&link_config);
}

static void on_pause_end(struct ev_loop *loop, ev_timer *timer, int events)
{
	ev_timer_stop(loop, timer);
	connect_link(timer->data);
}

void provider_pause(struct provider *provider, double seconds)
{
	if (provider->link != NULL) {
		bool was_up = link_is_up(provider->link);
		link_free(provider->link, "another provider takes this one's place");
		provider->link = NULL;
		if (was_up)
			on_down(provider, NULL);
	}
	ev_timer_stop(provider->config.loop, &provider->pause);
	ev_timer_set(&provider->pause, seconds, 0.);
	ev_timer_start(provider->config.loop, &provider->pause);
}

/* ---- lifecycle ---- */

static void collect(void *ctx)
{
	const struct provider *provider = ctx;
	for (unsigned kind = LB_NONE + 1; kind < LB_KIND_COUNT; kind++)
		metric_set(&provider_metrics[PROVIDER_OBJECTS], kind - 1,
			(double)state_count(provider->state, (enum lb_kind)kind));
}

/* Metrics of what has not happened yet show 0 instead of being absent. */
static void start_metrics(struct provider *provider)
{
	metrics_add(provider_metrics, PROVIDER_METRIC_COUNT);
	metrics_collect_with(collect, provider);
	metric_add(&provider_metrics[PROVIDER_COMMITS], 0, 0);
	for (unsigned i = 0; i < 3; i++)
		metric_add(&provider_metrics[PROVIDER_BALANCERS], i, 0);
	for (unsigned i = 0; i < 2; i++)
		metric_add(&provider_metrics[PROVIDER_APPLIES], i, 0);
}

struct provider *provider_new(const struct provider_config *config)
{
	struct provider *provider = xcalloc(1, sizeof(*provider));
	provider->config = *config;
	provider->config.socket_path = NULL;
	arena_init(&provider->arena);
	ev_prepare_init(&provider->sender, on_sender);
	provider->sender.data = provider;
	provider->may_act = true;
	ev_timer_init(&provider->lead_end, on_lead_end, 0., 0.);
	provider->lead_end.data = provider;
	struct state_config state_config = {
		.reduce = config->ops->reduce,
		.amend = config->ops->amend,
		.amend_ctx = config->ctx,
		.want_touched = config->want_touched,
	};
	provider->state = state_new(&state_config);
	provider->reports = reports_new(PROVIDER_EVENTS_MAX, &reports_ops, provider);
	ev_init(&provider->pause, on_pause_end);
	provider->pause.data = provider;
	provider->socket_path = xstrdup(config->socket_path);
	connect_link(provider);
	start_metrics(provider);
	return provider;
}

void provider_free(struct provider *provider, const char *reason)
{
	if (provider == NULL)
		return;
	metrics_collect_without(collect, provider);
	ev_prepare_stop(provider->config.loop, &provider->sender);
	ev_timer_stop(provider->config.loop, &provider->lead_end);
	ev_timer_stop(provider->config.loop, &provider->pause);
	link_free(provider->link, reason);
	free(provider->socket_path);
	struct object *object = state_first(provider->state, LB_LOAD_BALANCER);
	for (; object != NULL; object = state_next(provider->state, object))
		reports_forget(provider->reports, object);
	reports_free(provider->reports);
	state_free(provider->state);
	arena_fini(&provider->arena);
	free(provider);
}

struct state *provider_state(struct provider *provider)
{
	return provider->state;
}

void provider_decode(struct provider *provider, const struct object *object, struct arena *arena,
	void *ret_value)
{
	state_decode(provider->state, object, arena, ret_value);
}

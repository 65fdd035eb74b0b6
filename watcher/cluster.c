// SPDX-License-Identifier: Apache-2.0
#include "watcher/cluster.h"

#include "common/backoff.h"
#include "common/clock.h"
#include "common/http.h"
#include "common/must.h"
#include "common/xalloc.h"
#include "proto/message.h"
#include "watcher/log_events.h"
#include "watcher/metrics.h"
#include "watcher/named_objects.h"

#include <stdio.h>

enum {
	REFLECTORS_MAX = RECORD_KIND_COUNT * CLUSTER_NAMESPACES_MAX,
	MISSING_LEN = 2048,
	PROBLEM_LEN = 512,
};
/* After an outage of this length the cluster may be another one. */
static const double LONG_OUTAGE_S = 300.0;
/* How often discovery is repeated while a required kind is not served. */
static const double SEARCH_S = 30.0;
/* How often readiness is reviewed while something does not work. */
static const double REVIEW_S = 1.0;
/* A watch that ends normally is reopened within this time, before it is worth reporting. */
static const double AGE_TOLD_S = 2.0;

/* Ingresses come last, so that a receiver gets what they refer to first. */
static const enum record_kind order[] = {RECORD_INGRESS_CLASS, RECORD_SERVICE, RECORD_ENDPOINTS,
	RECORD_SECRET, RECORD_CONFIG_MAP, RECORD_NODE, RECORD_POD, RECORD_INGRESS};
enum { ORDER_COUNT = sizeof(order) / sizeof(order[0]) };

struct cluster {
	struct cluster_config config;
	struct reflector_traits traits;
	struct discovery *discovery;
	const struct kind_version *versions[RECORD_KIND_COUNT]; /* in use; NULL: none */
	struct reflector *reflectors[REFLECTORS_MAX];
	size_t reflector_count;
	struct named_objects *named;
	char *replica_namespace; /* NULL: none are read */
	char *replica_selector;  /* percent-encoded */
	bool is_lost[REFLECTORS_MAX];
	bool is_discovered; /* at least once */
	bool is_whole;
	char discovery_problem[PROBLEM_LEN];
	struct backoff search; /* for kinds that are not served */
	ev_timer search_timer;
	ev_timer review;
};

/* Whether it is to be watched, if the server has it. */
static bool is_wanted(const struct cluster *c, enum record_kind kind)
{
	if (kind == RECORD_CONFIG_MAP)
		return c->config.named.options_name.len != 0 || c->config.named.tcp_name.len != 0 ||
		       c->config.named.udp_name.len != 0;
	if (kind == RECORD_POD)
		return c->config.replicas.namespace.len != 0;
	if (kind == RECORD_NODE)
		return c->config.replicas.namespace.len != 0 && c->config.replicas.wants_nodes;
	return kind != RECORD_INGRESS_CLASS || c->config.wants_classes;
}

/* Whether nothing is complete without it. */
static bool is_required(const struct cluster *c, enum record_kind kind)
{
	return kind != RECORD_INGRESS_CLASS && is_wanted(c, kind);
}

/* ---- what is missing ---- */

static size_t add_words(char *text, size_t used, const char *kind, const char *why)
{
	size_t room = MISSING_LEN - used;
	int len = snprintf(text + used, room, "%s%s (%s)", used != 0 ? "\n" : "", kind, why);
	return (size_t)len < room ? used + (size_t)len : MISSING_LEN - 1;
}

static void review(struct cluster *c)
{
	char missing[MISSING_LEN] = "";
	size_t used = 0;
	bool is_followed = true;
	if (!c->is_discovered)
		used = add_words(missing, used, "discovery",
			c->discovery_problem[0] != '\0' ? c->discovery_problem
							: "asking the API server");
	for (size_t i = 0; c->is_discovered && i < ORDER_COUNT; i++) {
		if (c->versions[order[i]] == NULL && is_required(c, order[i]))
			used = add_words(missing, used, record_kind_word(order[i]),
				"not served by the API server");
	}
	for (size_t i = 0; i < c->reflector_count; i++) {
		const struct reflector *r = c->reflectors[i];
		const char *problem = reflector_problem(r);
		is_followed = is_followed && reflector_age_s(r) <= 0;
		if (problem != NULL)
			used = add_words(missing, used,
				record_kind_word(reflector_version(r)->kind), problem);
	}
	const char *problem = named_objects_problem(c->named);
	if (problem != NULL)
		used = add_words(missing, used, record_kind_word(RECORD_CONFIG_MAP), problem);
	bool must_look_again = used != 0 || !is_followed;
	if (must_look_again && !ev_is_active(&c->review))
		ev_timer_again(c->config.loop, &c->review);
	else if (!must_look_again)
		ev_timer_stop(c->config.loop, &c->review);
	c->config.ops->on_missing(c->config.ctx, used != 0 ? missing : NULL);
}

static void on_review(struct ev_loop *loop, ev_timer *timer, int events)
{
	review(timer->data);
}

static void become_whole(struct cluster *c)
{
	for (size_t i = 0; i < c->reflector_count; i++) {
		if (!reflector_is_synced(c->reflectors[i]))
			return;
	}
	if (c->is_whole || !c->is_discovered || !named_objects_are_ready(c->named))
		return;
	for (size_t i = 0; i < ORDER_COUNT; i++) {
		if (c->versions[order[i]] == NULL && is_required(c, order[i]))
			return;
	}
	c->is_whole = true;
	c->config.ops->on_whole(c->config.ctx);
}

/* ---- events of reflectors ---- */

/* From the loop: a reflector must not be freed while it is in its callback. */
static void search_later(struct cluster *c, double after_s)
{
	if (ev_is_active(&c->search_timer) || discovery_is_running(c->discovery))
		return;
	ev_timer_set(&c->search_timer, after_s, 0.);
	ev_timer_start(c->config.loop, &c->search_timer);
}

static void on_search(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct cluster *c = timer->data;
	discovery_run(c->discovery);
}

static void on_changed(void *ctx)
{
	struct cluster *c = ctx;
	c->config.ops->on_changed(c->config.ctx);
}

static void on_synced(void *ctx, struct reflector *reflector)
{
	struct cluster *c = ctx;
	backoff_succeeded(&c->search);
	become_whole(c);
	review(c);
}

static void on_following(void *ctx, struct reflector *reflector)
{
	review(ctx);
}

static void on_health(void *ctx, struct reflector *reflector, double outage_s)
{
	struct cluster *c = ctx;
	/* The server is back: the other reflectors need not wait out a back-off meant for its absence. */
	for (size_t i = 0; outage_s >= 0 && i < c->reflector_count; i++) {
		if (c->reflectors[i] != reflector)
			reflector_reachable(c->reflectors[i]);
	}
	if (outage_s >= LONG_OUTAGE_S)
		search_later(c, backoff_random() * SEARCH_S);
	review(c);
}

static void on_lost(void *ctx, struct reflector *reflector)
{
	struct cluster *c = ctx;
	for (size_t i = 0; i < c->reflector_count; i++) {
		if (c->reflectors[i] == reflector)
			c->is_lost[i] = true;
	}
	search_later(c, backoff_next(&c->search));
	review(c);
}

static void on_refused(
	void *ctx, struct reflector *reflector, const struct project_meta *meta, const char *why)
{
	struct cluster *c = ctx;
	c->config.ops->on_refused(c->config.ctx, reflector_version(reflector)->kind, meta, why);
}

static const struct reflector_ops reflector_ops = {
	.on_changed = on_changed,
	.on_synced = on_synced,
	.on_following = on_following,
	.on_health = on_health,
	.on_lost = on_lost,
	.on_refused = on_refused,
};

static void on_named_ready(void *ctx)
{
	become_whole(ctx);
	review(ctx);
}

static void on_named_refused(
	void *ctx, enum record_kind kind, const struct project_meta *meta, const char *why)
{
	struct cluster *c = ctx;
	c->config.ops->on_refused(c->config.ctx, kind, meta, why);
}

/* ---- reflectors ---- */

static struct reflector *start_reflector(
	struct cluster *c, const struct kind_version *version, const char *namespace)
{
	return reflector_new(&(struct reflector_config){
		.loop = c->config.loop,
		.api = c->config.api,
		.store = c->config.store,
		.version = version,
		.namespace = namespace,
		.label_selector = version->kind == RECORD_POD ? c->replica_selector : NULL,
		.options = c->config.options,
		.traits = &c->traits,
		.ops = &reflector_ops,
		.ctx = c,
	});
}

static void add_reflectors(struct cluster *c, const struct kind_version *version)
{
	size_t count = version->namespaced ? c->config.namespaces.count : 0;
	if (version->kind == RECORD_CONFIG_MAP)
		return; /* see named_objects.h */
	if (version->kind == RECORD_POD) {
		must(c->reflector_count < REFLECTORS_MAX);
		c->reflectors[c->reflector_count++] =
			start_reflector(c, version, c->replica_namespace);
		return;
	}
	for (size_t i = 0; i < (count != 0 ? count : 1); i++) {
		must(c->reflector_count < REFLECTORS_MAX);
		const char *namespace = count != 0 ? c->config.namespaces.items[i] : NULL;
		c->reflectors[c->reflector_count++] = start_reflector(c, version, namespace);
	}
}

static void tell_kinds(struct cluster *c)
{
	int kinds[ORDER_COUNT];
	size_t count = 0;
	for (size_t i = 0; i < ORDER_COUNT; i++) {
		if (c->versions[order[i]] != NULL)
			kinds[count++] = (int)order[i];
	}
	c->config.ops->on_kinds(c->config.ctx, kinds, count);
}

/* ---- served versions ---- */

/* Moves the reflectors of a kind to the version that is best now; one whose version works is left alone. */
static void change_version(struct cluster *c, const struct kind_version *version)
{
	for (size_t i = 0; i < c->reflector_count; i++) {
		struct reflector *r = c->reflectors[i];
		if (reflector_version(r)->kind != version->kind)
			continue;
		if (c->is_lost[i]) {
			c->is_lost[i] = false;
			reflector_restart(r, version);
		} else if (reflector_version(r) != version) {
			const char *namespace = reflector_namespace(r);
			reflector_free(r);
			c->reflectors[i] = start_reflector(c, version, namespace);
		}
	}
}

static void note_version(struct cluster *c, const struct kind_version *version)
{
	if (c->versions[version->kind] != version)
		log_event(&EV_DISCOVERED, LOG_STR("kind", record_kind_word(version->kind)),
			LOG_STR("version", version->group_version),
			LOG_STR("resource", version->resource));
	c->versions[version->kind] = version;
	c->config.ops->on_version(c->config.ctx, version);
}

static void on_discovered(void *ctx, const struct discovery_result *result)
{
	struct cluster *c = ctx;
	bool kinds_changed = !c->is_discovered;
	bool is_missing = false;
	c->discovery_problem[0] = '\0';
	for (size_t i = 0; i < ORDER_COUNT; i++) {
		const struct kind_version *version = result->versions[order[i]];
		bool is_new = c->versions[order[i]] == NULL;
		if (version == NULL) {
			if (is_wanted(c, order[i]) && is_new && !c->is_discovered)
				log_event(&EV_NOT_SERVED,
					LOG_STR("kind", record_kind_word(order[i])));
			is_missing = is_missing || is_required(c, order[i]);
			continue;
		}
		note_version(c, version);
		kinds_changed = kinds_changed || is_new;
		if (is_new)
			add_reflectors(c, version);
		else
			change_version(c, version);
	}
	c->is_discovered = true;
	if (kinds_changed)
		tell_kinds(c);
	if (is_missing)
		search_later(c, SEARCH_S * (1.0 + backoff_random()));
	review(c);
}

static void on_discovery_problem(void *ctx, const char *problem)
{
	struct cluster *c = ctx;
	log_event(&EV_DISCOVERY_FAILED, LOG_STR("reason", problem));
	snprintf(c->discovery_problem, sizeof(c->discovery_problem), "%s", problem);
	review(c);
}

/* ---- lifecycle ---- */

/* Of several reflectors of a kind (--namespace) the worst one is reported. */
static void collect(void *ctx)
{
	const struct cluster *c = ctx;
	struct {
		bool is_there;
		bool is_synced;
		double silence_s;
	} kinds[RECORD_KIND_COUNT] = {0};
	for (size_t i = 0; i < c->reflector_count; i++) {
		const struct reflector *r = c->reflectors[i];
		enum record_kind kind = reflector_version(r)->kind;
		bool is_synced = reflector_is_synced(r) && reflector_problem(r) == NULL;
		double silence_s = clock_monotonic_s() - reflector_heard_at(r);
		kinds[kind].is_synced =
			is_synced && (!kinds[kind].is_there || kinds[kind].is_synced);
		kinds[kind].is_there = true;
		if (silence_s > kinds[kind].silence_s)
			kinds[kind].silence_s = silence_s;
	}
	for (unsigned kind = RECORD_NONE + 1; kind < RECORD_KIND_COUNT; kind++) {
		if (!kinds[kind].is_there)
			continue;
		metric_set(&watcher_metrics[WATCHER_SYNCED], kind - 1, kinds[kind].is_synced);
		metric_set(&watcher_metrics[WATCHER_SILENCE], kind - 1, kinds[kind].silence_s);
		metric_set(&watcher_metrics[WATCHER_OBJECTS], kind - 1,
			(double)c->config.store->counts[kind]);
		metric_add(&watcher_metrics[WATCHER_CHANGES], kind - 1, 0);
		metric_add(&watcher_metrics[WATCHER_LISTS], kind - 1, 0);
		metric_add(&watcher_metrics[WATCHER_FAILURES], kind - 1, 0);
	}
}

struct cluster *cluster_new(const struct cluster_config *config)
{
	struct cluster *c = xcalloc(1, sizeof(*c));
	must(config->namespaces.count <= CLUSTER_NAMESPACES_MAX);
	c->config = *config;
	c->traits.wants_streams = config->wants_streams;
	backoff_init(&c->search, config->options->limits.backoff_first_s,
		config->options->limits.backoff_max_s);
	if (config->replicas.namespace.len != 0) {
		c->replica_namespace = str_dup(config->replicas.namespace);
		c->replica_selector = http_escape(config->replicas.selector);
	}
	struct discovery_config discovery = {
		.loop = config->loop,
		.api = config->api,
		.backoff_first_s = config->options->limits.backoff_first_s,
		.backoff_max_s = config->options->limits.backoff_max_s,
		.on_done = on_discovered,
		.on_problem = on_discovery_problem,
		.ctx = c,
	};
	for (size_t i = 0; i < ORDER_COUNT; i++)
		discovery.kinds[order[i]] = is_wanted(c, order[i]);
	c->named = named_objects_new(&(struct named_objects_config){
		.loop = config->loop,
		.api = config->api,
		.store = config->store,
		.options = config->options,
		.traits = &c->traits,
		.refs = config->named,
		.on_changed = on_changed,
		.on_ready = on_named_ready,
		.on_refused = on_named_refused,
		.ctx = c,
	});
	c->discovery = discovery_new(&discovery);
	ev_init(&c->search_timer, on_search);
	ev_init(&c->review, on_review);
	c->review.repeat = REVIEW_S;
	c->search_timer.data = c->review.data = c;
	discovery_run(c->discovery);
	review(c);
	metrics_collect_with(collect, c);
	return c;
}

void cluster_free(struct cluster *c)
{
	if (c == NULL)
		return;
	metrics_collect_without(collect, c);
	for (size_t i = 0; i < c->reflector_count; i++)
		reflector_free(c->reflectors[i]);
	named_objects_free(c->named);
	discovery_free(c->discovery);
	ev_timer_stop(c->config.loop, &c->search_timer);
	ev_timer_stop(c->config.loop, &c->review);
	free(c->replica_namespace);
	free(c->replica_selector);
	free(c);
}

void cluster_describe(const struct cluster *c, struct buf *out)
{
	double oldest_s = 0;
	bool is_told[RECORD_KIND_COUNT] = {false};
	const char *before = "";
	for (size_t i = 0; i < c->reflector_count; i++) {
		double age_s = reflector_age_s(c->reflectors[i]);
		oldest_s = age_s > oldest_s ? age_s : oldest_s;
	}
	if (oldest_s < AGE_TOLD_S ||
		buf_printf(out, "what is known is %.0f s old: ", oldest_s) != 0)
		return;
	for (size_t i = 0; i < c->reflector_count; i++) {
		enum record_kind kind = reflector_version(c->reflectors[i])->kind;
		if (is_told[kind] || reflector_age_s(c->reflectors[i]) < AGE_TOLD_S)
			continue;
		is_told[kind] = true;
		(void)buf_printf(out, "%s%s", before, record_kind_word(kind));
		before = ", ";
	}
	(void)buf_printf(out, "\n");
}

void cluster_hurry(struct cluster *c)
{
	for (size_t i = 0; i < c->reflector_count; i++)
		reflector_hurry(c->reflectors[i]);
	named_objects_hurry(c->named);
	if (ev_is_active(&c->search_timer)) {
		ev_timer_stop(c->config.loop, &c->search_timer);
		discovery_run(c->discovery);
	}
}

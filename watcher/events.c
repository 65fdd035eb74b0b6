// SPDX-License-Identifier: Apache-2.0
#include "watcher/events.h"

#include "common/ascii.h"
#include "common/backoff.h"
#include "common/clock.h"
#include "common/must.h"
#include "common/xalloc.h"
#include "watcher/log_events.h"
#include "watcher/metrics.h"

#include <stdio.h>
#include <time.h>

#define COMPONENT "sluice"
enum { REQUEST_MAX = 32 * 1024, PROBLEM_LEN = 512 };
static const double RETRY_S = 10.0;

/* The next request for the Event at the head of the queue. */
enum step {
	STEP_CREATE,
	STEP_LEARN, /* it exists, but its count is unknown: the response to a patch tells it */
	STEP_COUNT,
};

struct pending {
	TAILQ_ENTRY(pending) link;
	struct event_plan plan;
	enum record_kind kind;
	enum event_type type;
	bool standing;
	char *namespace;
	char *name;
	char *uid;
	char *reason;
	enum step step;
	unsigned tries;
};

struct counted {
	struct digest_entry entry;
	int64_t count; /* 0: unknown */
};

struct events {
	struct ev_loop *loop;
	struct api *api;
	struct event_filter filter;
	struct digest_cache counts; /* by the digest of the Event's text */
	const struct kind_version *versions[RECORD_KIND_COUNT];
	TAILQ_HEAD(pending_queue, pending)
	queue;
	size_t count;
	struct api_request *request; /* NULL: no request is running */
	ev_timer retry;
	bool is_passive; /* another replica writes the Events */
	bool has_problem;
	void (*on_problem)(void *ctx, const char *problem);
	void *ctx;
};

static void send_next(struct events *e);

static void free_pending(struct pending *p)
{
	free(p->namespace);
	free(p->name);
	free(p->uid);
	free(p->reason);
	free(p);
}

static void drop_first(struct events *e)
{
	struct pending *p = TAILQ_FIRST(&e->queue);
	TAILQ_REMOVE(&e->queue, p, link);
	e->count--;
	free_pending(p);
}

static int64_t *count_of(struct events *e, const struct pending *p)
{
	bool is_new;
	struct counted *counted = digest_cache_get(&e->counts, p->plan.digest, &is_new);
	return &counted->count;
}

/* ---- requests ---- */

/* "2026-07-14T09:00:00Z": the times of objects are whole seconds. */
static void print_now(char *text, size_t room)
{
	time_t now = (time_t)clock_wall_s();
	struct tm tm;
	gmtime_r(&now, &tm);
	strftime(text, room, "%Y-%m-%dT%H:%M:%SZ", &tm);
}

static void add_object(struct json *event, const struct events *e, const struct pending *p)
{
	static const char *const kinds[RECORD_KIND_COUNT] = {
		[RECORD_INGRESS] = "Ingress",
		[RECORD_INGRESS_CLASS] = "IngressClass",
		[RECORD_SERVICE] = "Service",
		[RECORD_ENDPOINTS] = "EndpointSlice",
		[RECORD_SECRET] = "Secret",
		[RECORD_CONFIG_MAP] = "ConfigMap",
		[RECORD_POD] = "Pod",
		[RECORD_NODE] = "Node",
	};
	const struct kind_version *version = e->versions[p->kind];
	struct json *object = json_add_object(event, "involvedObject");
	json_add_str(
		object, "kind", str_from(version != NULL ? version->object_kind : kinds[p->kind]));
	if (version != NULL)
		json_add_str(object, "apiVersion", str_from(version->group_version));
	if (p->namespace[0] != '\0')
		json_add_str(object, "namespace", str_from(p->namespace));
	json_add_str(object, "name", str_from(p->name));
	if (p->uid[0] != '\0')
		json_add_str(object, "uid", str_from(p->uid));
}

/* Events about objects without a namespace are in "default". */
static const char *namespace_of(const struct pending *p)
{
	return p->namespace[0] != '\0' ? p->namespace : "default";
}

static struct json *make_event(const struct events *e, const struct pending *p)
{
	char now[32];
	print_now(now, sizeof(now));
	struct json *event = json_new_object();
	json_add_str(event, "kind", STR("Event"));
	json_add_str(event, "apiVersion", STR("v1"));
	struct json *metadata = json_add_object(event, "metadata");
	json_add_str(metadata, "name", str_from(p->plan.name));
	json_add_str(metadata, "namespace", str_from(namespace_of(p)));
	add_object(event, e, p);
	json_add_str(event, "type", p->type == EVENT_WARNING ? STR("Warning") : STR("Normal"));
	json_add_str(event, "reason", str_from(p->reason));
	json_add_str(event, "message", str_from(p->plan.message));
	json_add_str(json_add_object(event, "source"), "component", STR(COMPONENT));
	json_add_str(event, "firstTimestamp", str_from(now));
	json_add_str(event, "lastTimestamp", str_from(now));
	json_add_int(event, "count", 1);
	json_add_str(event, "reportingComponent", STR(COMPONENT));
	json_add_str(event, "reportingInstance", STR(COMPONENT "-watcher"));
	return event;
}

static struct json *make_patch(const struct pending *p, int64_t count)
{
	char now[32];
	print_now(now, sizeof(now));
	struct json *patch = json_new_object();
	json_add_str(patch, "lastTimestamp", str_from(now));
	if (p->plan.is_combined)
		json_add_str(patch, "message", str_from(p->plan.message));
	if (count > 0)
		json_add_int(patch, "count", count + 1);
	return patch;
}

/* ---- responses ---- */

static void set_problem(struct events *e, const char *problem)
{
	if (problem == NULL && !e->has_problem)
		return;
	e->has_problem = problem != NULL;
	e->on_problem(e->ctx, problem);
}

/* True if the Event is finished. */
static bool take_success(struct events *e, struct pending *p, struct str body)
{
	int64_t *count = count_of(e, p);
	set_problem(e, NULL);
	struct json *event = json_parse(body, NULL, NULL);
	int64_t answered = 0;
	if (!json_whole_number(json_get(event, "count"), 0, INT32_MAX, &answered))
		answered = 1;
	json_free(event);
	*count = answered > 0 ? answered : 1;
	if (p->step != STEP_LEARN) {
		metric_add(&watcher_metrics[WATCHER_EVENTS], 0, 1);
		return true;
	}
	p->step = STEP_COUNT;
	return false;
}

/* A response without an object may mean that nothing was written. */
static bool is_object(struct str body)
{
	struct json *object = json_parse(body, NULL, NULL);
	bool is = json_get(object, "metadata") != NULL;
	json_free(object);
	return is;
}

/* Writes are refused while a namespace is being deleted; that is expected. */
static bool is_namespace_gone(const struct pending *p, const struct api_result *result, long code)
{
	return (code == 403 && result->status.is_terminating) ||
	       (code == 404 && p->step == STEP_CREATE);
}

static void give_up(struct events *e, const struct pending *p, const struct api_result *result)
{
	char reason[PROBLEM_LEN];
	char problem[PROBLEM_LEN + 64];
	api_result_text(result, reason, sizeof(reason));
	metric_add(&watcher_metrics[WATCHER_EVENTS], 1, 1);
	log_event(&EV_EVENT_FAILED, LOG_STR("namespace", p->namespace), LOG_STR("name", p->name),
		LOG_STR("event_reason", p->reason), LOG_STR("reason", reason));
	if (result->outcome != API_ANSWERED || result->code != 403)
		return;
	snprintf(problem, sizeof(problem), "Events: %s events: %s",
		p->step == STEP_CREATE ? "create" : "patch", reason);
	set_problem(e, problem);
}

/* True if the Event is finished. */
static bool take_answer(struct events *e, struct pending *p, const struct api_result *result)
{
	long code = result->outcome == API_ANSWERED ? result->code : 0;
	if (api_is_good(result) && is_object(result->body))
		return take_success(e, p, result->body);
	if (code == 409 && p->step == STEP_CREATE) {
		/* It was reported before, and a standing condition need not be repeated. */
		if (p->standing)
			return true;
		p->step = *count_of(e, p) > 0 ? STEP_COUNT : STEP_LEARN;
		return false;
	}
	if (code == 404 && p->step != STEP_CREATE) {
		/* It has expired since. */
		*count_of(e, p) = 0;
		p->step = STEP_CREATE;
		return ++p->tries >= EVENTS_TRIES_MAX;
	}
	if (is_namespace_gone(p, result, code)) {
		metric_add(&watcher_metrics[WATCHER_EVENTS], 3, 1);
		return true;
	}
	bool is_passing = code == 0 || api_is_good(result) || code == 408 || code == 410 ||
			  code == 425 || code == 429 || code >= 500;
	if (is_passing && ++p->tries < EVENTS_TRIES_MAX) {
		double wait_s = result->retry_after_s > 0 ? result->retry_after_s : RETRY_S;
		/* The first wait is shortened at random, so that not all replicas return at once. */
		if (p->tries == 1 && result->retry_after_s <= 0)
			wait_s *= backoff_random();
		ev_timer_set(&e->retry, wait_s, 0.);
		ev_timer_start(e->loop, &e->retry);
		return false;
	}
	give_up(e, p, result);
	return true;
}

static void on_done(void *ctx, const struct api_result *result)
{
	struct events *e = ctx;
	e->request = NULL;
	if (take_answer(e, TAILQ_FIRST(&e->queue), result))
		drop_first(e);
	send_next(e);
}

/* ---- sending ---- */

static void send_first(struct events *e, struct pending *p)
{
	struct buf body;
	bool creates = p->step == STEP_CREATE;
	struct json *json = creates ? make_event(e, p)
				    : make_patch(p, p->step == STEP_COUNT ? *count_of(e, p) : 0);
	char *path = creates ? xasprintf("/api/v1/namespaces/%s/events?fieldManager=" COMPONENT,
				       namespace_of(p))
			     : xasprintf("/api/v1/namespaces/%s/events/%s?fieldManager=" COMPONENT,
				       namespace_of(p), p->plan.name);
	buf_init(&body, REQUEST_MAX);
	must(json_print(json, &body) == 0);
	e->request =
		api_start(e->api, &(struct api_call){
					  .method = creates ? "POST" : "PATCH",
					  .path = path,
					  .body = buf_str(&body),
					  .content_type = creates ? "application/json"
								  : "application/merge-patch+json",
					  .on_done = on_done,
					  .ctx = e,
				  });
	buf_fini(&body);
	json_free(json);
	free(path);
}

static void send_next(struct events *e)
{
	struct pending *p = TAILQ_FIRST(&e->queue);
	if (p != NULL && e->request == NULL && !ev_is_active(&e->retry))
		send_first(e, p);
}

static void on_retry(struct ev_loop *loop, ev_timer *timer, int events)
{
	send_next(timer->data);
}

/* Rejects names that the message allows but an object or a path of the API does not. */
static bool is_sendable(const struct event_note *note)
{
	struct str name = note->key.name;
	for (size_t i = 0; i < name.len; i++) {
		char c = name.p[i];
		if (!(ascii_is_lower(c) || ascii_is_digit(c) || c == '-' || c == '.'))
			return false;
	}
	for (size_t i = 0; i < note->key.namespace.len; i++) {
		char c = note->key.namespace.p[i];
		if (!(ascii_is_lower(c) || ascii_is_digit(c) || c == '-'))
			return false;
	}
	return name.len != 0 && note->key.kind != RECORD_NONE && note->reason.len != 0;
}

void events_note(struct events *e, const struct event_note *note)
{
	struct event_plan plan;
	if (e->is_passive || !is_sendable(note) ||
		!event_filter_take(&e->filter, note, clock_monotonic_s(), &plan))
		return;
	if (e->count >= EVENTS_QUEUE_MAX) {
		metric_add(&watcher_metrics[WATCHER_EVENTS], 2, 1);
		log_event(&EV_EVENT_DROPPED, LOG_TEXT("namespace", note->key.namespace),
			LOG_TEXT("name", note->key.name), LOG_TEXT("reason", note->reason));
		return;
	}
	struct pending *p = xcalloc(1, sizeof(*p));
	p->plan = plan;
	p->kind = note->key.kind;
	p->type = note->type;
	p->standing = note->standing;
	p->namespace = str_dup(note->key.namespace);
	p->name = str_dup(note->key.name);
	p->uid = str_dup(note->key.uid);
	p->reason = str_dup(note->reason);
	TAILQ_INSERT_TAIL(&e->queue, p, link);
	e->count++;
	send_next(e);
}

/* ---- lifecycle ---- */

void events_set_active(struct events *e, bool is_active)
{
	e->is_passive = !is_active;
}

void events_set_version(struct events *e, const struct kind_version *version)
{
	e->versions[version->kind] = version;
}

struct events *events_new(struct ev_loop *loop, struct api *api,
	void (*on_problem)(void *ctx, const char *problem), void *ctx)
{
	struct events *e = xcalloc(1, sizeof(*e));
	e->loop = loop;
	e->api = api;
	e->on_problem = on_problem;
	e->ctx = ctx;
	event_filter_init(&e->filter);
	digest_cache_init(&e->counts, sizeof(struct counted), EVENT_MEMORY);
	TAILQ_INIT(&e->queue);
	ev_init(&e->retry, on_retry);
	e->retry.data = e;
	return e;
}

void events_free(struct events *e)
{
	if (e == NULL)
		return;
	api_cancel(e->request);
	ev_timer_stop(e->loop, &e->retry);
	while (e->count != 0)
		drop_first(e);
	digest_cache_fini(&e->counts);
	event_filter_fini(&e->filter);
	free(e);
}

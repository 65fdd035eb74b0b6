// SPDX-License-Identifier: Apache-2.0
#include "watcher/rights.h"

#include "common/must.h"
#include "common/xalloc.h"
#include "watcher/log_events.h"

#include <stdio.h>

enum { MISSING_LEN_MAX = 4096, BODY_LEN_MAX = 2048 };
/* By then all kinds have been discovered. */
static const double BEGIN_AFTER_S = 0.2;

/* Operations on each kind; RECORD_NONE: Events. Missing rights on Services are reported when a write fails. */
static const struct need {
	enum record_kind kind;
	const char *verb;
	const char *subresource;
} needs[] = {
	{RECORD_INGRESS_CLASS, "list", ""},
	{RECORD_INGRESS_CLASS, "watch", ""},
	{RECORD_SERVICE, "list", ""},
	{RECORD_SERVICE, "watch", ""},
	{RECORD_ENDPOINTS, "list", ""},
	{RECORD_ENDPOINTS, "watch", ""},
	{RECORD_SECRET, "list", ""},
	{RECORD_SECRET, "watch", ""},
	{RECORD_CONFIG_MAP, "list", ""},
	{RECORD_CONFIG_MAP, "watch", ""},
	{RECORD_POD, "list", ""},
	{RECORD_POD, "watch", ""},
	{RECORD_NODE, "list", ""},
	{RECORD_NODE, "watch", ""},
	{RECORD_INGRESS, "list", ""},
	{RECORD_INGRESS, "watch", ""},
	{RECORD_INGRESS, "patch", "status"},
	{RECORD_NONE, "create", ""},
	{RECORD_NONE, "patch", ""},
};
enum { NEED_COUNT = sizeof(needs) / sizeof(needs[0]) };

struct rights {
	struct rights_config config;
	const struct kind_version *versions[RECORD_KIND_COUNT];
	struct api_request *request; /* NULL: no request is running */
	ev_timer timer;              /* until the next round of questions */
	size_t need;                 /* index of the current question, */
	size_t namespace;            /* and of its namespace */
	struct buf missing;          /* found so far in this round */
};

static void ask_next(struct rights *r);

/* ---- one question ---- */

static bool is_namespaced(const struct rights *r, const struct need *need)
{
	return need->kind == RECORD_NONE || r->versions[need->kind]->namespaced;
}

/* ConfigMaps are asked for by name, and nobody needs a right to all of them. */
static bool is_by_name(const struct rights *r)
{
	return needs[r->need].kind == RECORD_CONFIG_MAP;
}

/* Of pods those of one namespace are asked for, whatever else is watched. */
static bool is_of_pods(const struct rights *r)
{
	return needs[r->need].kind == RECORD_POD;
}

static struct str namespace_of(const struct rights *r)
{
	if (is_of_pods(r))
		return r->config.pods_namespace;
	if (is_by_name(r))
		return r->config.options.options_namespace;
	bool is_everywhere = r->config.namespaces.count == 0 || !is_namespaced(r, &needs[r->need]);
	return is_everywhere ? STR_NONE : str_from(r->config.namespaces.items[r->namespace]);
}

static const char *resource_of(const struct rights *r)
{
	const struct need *need = &needs[r->need];
	return need->kind == RECORD_NONE ? "events" : r->versions[need->kind]->resource;
}

/* "networking.k8s.io" of "networking.k8s.io/v1"; the core has none. */
static struct str group_of(const struct rights *r)
{
	const struct need *need = &needs[r->need];
	if (need->kind == RECORD_NONE)
		return STR("");
	const char *version = r->versions[need->kind]->group_version;
	const char *slash = strchr(version, '/');
	return slash != NULL ? (struct str){version, (size_t)(slash - version)} : STR("");
}

static struct json *make_review(const struct rights *r)
{
	const struct need *need = &needs[r->need];
	struct json *review = json_new_object();
	json_add_str(review, "kind", STR("SelfSubjectAccessReview"));
	json_add_str(review, "apiVersion", STR("authorization.k8s.io/v1"));
	struct json *what = json_add_object(json_add_object(review, "spec"), "resourceAttributes");
	json_add_str(what, "verb", str_from(need->verb));
	json_add_str(what, "group", group_of(r));
	json_add_str(what, "resource", str_from(resource_of(r)));
	if (need->subresource[0] != '\0')
		json_add_str(what, "subresource", str_from(need->subresource));
	if (namespace_of(r).len != 0)
		json_add_str(what, "namespace", namespace_of(r));
	if (is_by_name(r))
		json_add_str(what, "name", r->config.options.options_name);
	return review;
}

static void note_missing(struct rights *r)
{
	const struct need *need = &needs[r->need];
	struct str namespace = namespace_of(r);
	struct str name = is_by_name(r) ? r->config.options.options_name : STR("");
	struct str group = group_of(r);
	char right[512];
	snprintf(right, sizeof(right), "%s %s%s%.*s%s%s%s%.*s%s%.*s", need->verb, resource_of(r),
		group.len != 0 ? "." : "", STR_FMT(group), need->subresource[0] != '\0' ? "/" : "",
		need->subresource, name.len != 0 ? " " : "", STR_FMT(name),
		namespace.len != 0 ? " in namespace " : "", STR_FMT(namespace));
	log_event(&EV_RIGHT_MISSING, LOG_STR("right", right));
	/* What does not fit is in the log. */
	(void)buf_printf(
		&r->missing, "%s%s (not allowed)", buf_len(&r->missing) != 0 ? "\n" : "", right);
}

/* ---- a round of questions ---- */

static void step(struct rights *r)
{
	bool is_once = r->config.namespaces.count == 0 || is_by_name(r) || is_of_pods(r) ||
		       !is_namespaced(r, &needs[r->need]);
	if (!is_once && ++r->namespace < r->config.namespaces.count)
		return;
	r->namespace = 0;
	r->need++;
}

static void end_round(struct rights *r)
{
	bool is_missing = buf_len(&r->missing) != 0;
	char *text = is_missing ? str_dup(buf_str(&r->missing)) : NULL;
	r->config.on_missing(r->config.ctx, text);
	free(text);
	if (is_missing && !ev_is_active(&r->timer)) {
		ev_timer_set(&r->timer, r->config.again_s, 0.);
		ev_timer_start(r->config.loop, &r->timer);
	}
}

static void on_done(void *ctx, const struct api_result *result)
{
	struct rights *r = ctx;
	struct json *answer = api_is_good(result) ? json_parse(result->body, NULL, NULL) : NULL;
	const struct json *allowed = json_path(answer, "status", "allowed", NULL);
	r->request = NULL;
	/* A missing answer is not a refusal. */
	if (!json_bool(allowed, true))
		note_missing(r);
	json_free(answer);
	step(r);
	ask_next(r);
}

static void ask_next(struct rights *r)
{
	struct buf body;
	while (r->need < NEED_COUNT && needs[r->need].kind != RECORD_NONE &&
		(r->versions[needs[r->need].kind] == NULL ||
			(is_by_name(r) && r->config.options.options_name.len == 0)))
		r->need++;
	if (r->need == NEED_COUNT) {
		end_round(r);
		return;
	}
	struct json *review = make_review(r);
	buf_init(&body, BODY_LEN_MAX);
	must(json_print(review, &body) == 0);
	r->request = api_start(r->config.api,
		&(struct api_call){
			.method = "POST",
			.path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
			.body = buf_str(&body),
			.content_type = "application/json",
			.on_done = on_done,
			.ctx = r,
		});
	buf_fini(&body);
	json_free(review);
}

static void on_timer(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct rights *r = timer->data;
	api_cancel(r->request);
	r->request = NULL;
	r->need = r->namespace = 0;
	buf_fini(&r->missing);
	buf_init(&r->missing, MISSING_LEN_MAX);
	ask_next(r);
}

/* ---- lifecycle ---- */

void rights_set_version(struct rights *r, const struct kind_version *version)
{
	if (r->versions[version->kind] == version)
		return;
	r->versions[version->kind] = version;
	ev_timer_stop(r->config.loop, &r->timer);
	ev_timer_set(&r->timer, BEGIN_AFTER_S, 0.);
	ev_timer_start(r->config.loop, &r->timer);
}

struct rights *rights_new(const struct rights_config *config)
{
	struct rights *r = xcalloc(1, sizeof(*r));
	r->config = *config;
	buf_init(&r->missing, MISSING_LEN_MAX);
	ev_init(&r->timer, on_timer);
	r->timer.data = r;
	return r;
}

void rights_free(struct rights *r)
{
	if (r == NULL)
		return;
	api_cancel(r->request);
	ev_timer_stop(r->config.loop, &r->timer);
	buf_fini(&r->missing);
	free(r);
}

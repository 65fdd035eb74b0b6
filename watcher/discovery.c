// SPDX-License-Identifier: Apache-2.0
#include "watcher/discovery.h"

#include "common/backoff.h"
#include "common/must.h"
#include "common/xalloc.h"

#include <stdio.h>

enum { GROUPS_MAX = 16, PROBLEM_LEN = 512 };

enum answer { ANSWER_UNKNOWN, ANSWER_SERVED, ANSWER_NOT_SERVED };

/* One group and version to query. */
struct group {
	struct discovery *discovery;
	const char *group_version;
	struct api_request *request; /* NULL: no request is running */
	bool is_answered;
};

struct discovery {
	struct discovery_config config;
	struct group groups[GROUPS_MAX];
	size_t group_count;
	enum answer answers[RECORD_KIND_COUNT][KIND_VERSIONS_MAX];
	bool is_running;
	struct backoff backoff;
	ev_timer retry;
};

/* ---- reading a response ---- */

static bool has_verb(const struct json *resource, const char *verb)
{
	const struct json *item = json_first(json_get(resource, "verbs"));
	for (; item != NULL; item = json_next(item)) {
		if (str_eq_c(json_text(item), verb))
			return true;
	}
	return false;
}

static bool serves(const struct json *list, const char *resource)
{
	const struct json *item = json_first(json_get(list, "resources"));
	for (; item != NULL; item = json_next(item)) {
		if (str_eq_c(json_text(json_get(item, "name")), resource))
			return has_verb(item, "list") && has_verb(item, "watch");
	}
	return false;
}

/* `list` is an APIResourceList; NULL: the group is not served. */
static void note_answer(struct discovery *d, const struct group *group, const struct json *list)
{
	for (int kind = RECORD_NONE + 1; kind < RECORD_KIND_COUNT; kind++) {
		for (size_t i = 0; i < KIND_VERSIONS_MAX; i++) {
			const struct kind_version *version =
				kind_version_at((enum record_kind)kind, i);
			if (version == NULL)
				break;
			if (strcmp(version->group_version, group->group_version) == 0)
				d->answers[kind][i] = serves(list, version->resource)
							      ? ANSWER_SERVED
							      : ANSWER_NOT_SERVED;
		}
	}
}

/* ---- deciding ---- */

/* False: a preferred version has not been answered yet. */
static bool choose(
	const struct discovery *d, enum record_kind kind, const struct kind_version **ret_version)
{
	*ret_version = NULL;
	for (size_t i = 0; i < KIND_VERSIONS_MAX; i++) {
		const struct kind_version *version = kind_version_at(kind, i);
		if (version == NULL)
			return true;
		if (d->answers[kind][i] == ANSWER_UNKNOWN)
			return false;
		if (d->answers[kind][i] == ANSWER_SERVED) {
			*ret_version = version;
			return true;
		}
	}
	return true;
}

static void stop(struct discovery *d)
{
	for (size_t i = 0; i < d->group_count; i++) {
		api_cancel(d->groups[i].request);
		d->groups[i].request = NULL;
	}
	ev_timer_stop(d->config.loop, &d->retry);
	d->is_running = false;
}

static void finish_if_decided(struct discovery *d)
{
	struct discovery_result result = {0};
	for (int kind = RECORD_NONE + 1; kind < RECORD_KIND_COUNT; kind++) {
		if (d->config.kinds[kind] &&
			!choose(d, (enum record_kind)kind, &result.versions[kind]))
			return;
	}
	stop(d);
	backoff_succeeded(&d->backoff);
	d->config.on_done(d->config.ctx, &result);
}

/* ---- requests ---- */

static void wait_and_retry(struct discovery *d, double retry_after_s)
{
	double wait_s = backoff_next(&d->backoff);
	if (ev_is_active(&d->retry))
		return;
	if (retry_after_s > wait_s)
		wait_s = retry_after_s * (1.0 + 0.25 * backoff_random());
	ev_timer_set(&d->retry, wait_s, 0.);
	ev_timer_start(d->config.loop, &d->retry);
}

static void on_answer(void *ctx, const struct api_result *result)
{
	struct group *group = ctx;
	struct discovery *d = group->discovery;
	char problem[PROBLEM_LEN];
	struct json *list = NULL;
	group->request = NULL;
	if (result->outcome == API_ANSWERED && result->code == 200)
		list = json_parse(result->body, NULL, NULL);
	bool is_list = json_is_array(json_get(list, "resources"));
	bool is_absent = result->outcome == API_ANSWERED && result->code == 404;
	if (is_list || is_absent) {
		group->is_answered = true;
		note_answer(d, group, list);
		json_free(list);
		finish_if_decided(d);
		return;
	}
	json_free(list);
	int len = snprintf(problem, sizeof(problem), "discovery of %s: ", group->group_version);
	if (result->outcome == API_ANSWERED && result->code == 200)
		snprintf(problem + len, sizeof(problem) - (size_t)len, "the answer is no list");
	else
		api_result_text(result, problem + len, sizeof(problem) - (size_t)len);
	wait_and_retry(d, result->retry_after_s);
	d->config.on_problem(d->config.ctx, problem);
}

static void ask(struct discovery *d, struct group *group)
{
	char *path = kind_group_path(group->group_version);
	group->request = api_start(d->config.api, &(struct api_call){
							  .method = "GET",
							  .path = path,
							  .on_done = on_answer,
							  .ctx = group,
						  });
	free(path);
}

static void ask_all(struct discovery *d)
{
	for (size_t i = 0; i < d->group_count; i++) {
		if (!d->groups[i].is_answered && d->groups[i].request == NULL)
			ask(d, &d->groups[i]);
	}
}

static void on_retry(struct ev_loop *loop, ev_timer *timer, int events)
{
	ask_all(timer->data);
}

/* ---- lifecycle ---- */

static void add_group(struct discovery *d, const char *group_version)
{
	for (size_t i = 0; i < d->group_count; i++) {
		if (strcmp(d->groups[i].group_version, group_version) == 0)
			return;
	}
	must(d->group_count < GROUPS_MAX);
	d->groups[d->group_count++] =
		(struct group){.discovery = d, .group_version = group_version};
}

struct discovery *discovery_new(const struct discovery_config *config)
{
	struct discovery *d = xcalloc(1, sizeof(*d));
	d->config = *config;
	backoff_init(&d->backoff, config->backoff_first_s, config->backoff_max_s);
	ev_init(&d->retry, on_retry);
	d->retry.data = d;
	for (int kind = RECORD_NONE + 1; kind < RECORD_KIND_COUNT; kind++) {
		const struct kind_version *version;
		for (size_t i = 0; config->kinds[kind] &&
				   (version = kind_version_at((enum record_kind)kind, i)) != NULL;
			i++)
			add_group(d, version->group_version);
	}
	return d;
}

void discovery_free(struct discovery *discovery)
{
	if (discovery == NULL)
		return;
	stop(discovery);
	free(discovery);
}

void discovery_run(struct discovery *d)
{
	stop(d);
	memset(d->answers, 0, sizeof(d->answers));
	for (size_t i = 0; i < d->group_count; i++)
		d->groups[i].is_answered = false;
	d->is_running = true;
	ask_all(d);
}

bool discovery_is_running(const struct discovery *discovery)
{
	return discovery->is_running;
}

// SPDX-License-Identifier: Apache-2.0
#include "watcher/reflector_requests.h"

#include "common/backoff.h"
#include "common/must.h"
#include "common/xalloc.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- paths and queries (Kubernetes API concepts, "Efficient detection of changes") ---- */

/* The collection's path with a query begun; the caller appends to it. */
static char *begin_path(const struct reflector_config *config, const char *query)
{
	const char *fields = config->version->field_selector;
	const char *labels = config->label_selector;
	char *collection = kind_collection_path(config->version, config->namespace);
	/* No kind has both. */
	must(fields == NULL || labels == NULL);
	const char *selector = fields != NULL ? fields : labels;
	char *path = xasprintf("%s?%s%s%s", collection,
		fields != NULL   ? "fieldSelector="
		: labels != NULL ? "labelSelector="
				 : "",
		selector != NULL ? selector : "", selector != NULL && query[0] != '\0' ? "&" : "");
	char *whole = xasprintf("%s%s", path, query);
	free(collection);
	free(path);
	return whole;
}

static char *page_path(
	const struct reflector_config *config, const struct reflector_fsm *m, const char *next_page)
{
	char limit[32] = "";
	char *query = NULL;
	if (!m->whole)
		snprintf(limit, sizeof(limit), "limit=%u&", m->page_size);
	if (next_page != NULL) {
		char *token = http_escape(str_from(next_page));
		query = xasprintf("%scontinue=%s", limit, token);
		free(token);
	} else if (m->consistent) {
		query = xstrdup(limit);
	} else {
		query = xasprintf("%sresourceVersion=%s&resourceVersionMatch=NotOlderThan", limit,
			m->revision.text);
	}
	char *path = begin_path(config, query);
	/* Nothing may stand behind the last '&' or the '?'. */
	size_t len = strlen(path);
	if (path[len - 1] == '&' || path[len - 1] == '?')
		path[len - 1] = '\0';
	free(query);
	return path;
}

/* One object at most, with the revision of the newest state. */
static char *check_path(const struct reflector_config *config)
{
	return begin_path(config, "limit=1");
}

static char *watch_path(const struct reflector_config *config, const struct reflector_fsm *m,
	bool is_stream, double lives_s)
{
	char *query = xasprintf(
		"watch=true&allowWatchBookmarks=true&timeoutSeconds=%d%s&resourceVersion=%s",
		(int)lives_s,
		is_stream ? "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan" : "",
		is_stream && m->consistent ? "" : m->revision.text);
	char *path = begin_path(config, query);
	free(query);
	return path;
}

/* ---- requests ---- */

struct channel *reflector_open_page(struct reflector_request request, const char *next_page)
{
	const struct reflector_config *config = request.config;
	char *path = page_path(config, request.fsm, next_page);
	struct channel *channel = channel_list(&request.channel, path);
	free(path);
	return channel;
}

struct channel *reflector_open_check(struct reflector_request request)
{
	struct channel_config channel_config = request.channel;
	char *path = check_path(request.config);
	channel_config.ignores_objects = true;
	struct channel *channel = channel_list(&channel_config, path);
	free(path);
	return channel;
}

struct channel *reflector_open_watch(struct reflector_request request, bool is_stream)
{
	const struct reflector_config *config = request.config;
	const struct reflector_options *options = config->options;
	double lives_s = options->watch_timeout_s * (1.0 + backoff_random());
	char *path = watch_path(config, request.fsm, is_stream, lives_s);
	struct channel *channel = channel_watch(&request.channel, path, options->answer_timeout_s,
		lives_s + options->watch_margin_s);
	free(path);
	return channel;
}

// SPDX-License-Identifier: Apache-2.0
#include "watcher/reflector_paths.h"

#include "common/http.h"
#include "common/xalloc.h"

#include <stdio.h>

/* The collection's path and the start of its query, for the caller to append to. */
static char *begin_path(
	const struct kind_version *version, const char *namespace, const char *query)
{
	char *collection = kind_collection_path(version, namespace);
	char *path = xasprintf("%s?%s%s%s", collection,
		version->field_selector != NULL ? "fieldSelector=" : "",
		version->field_selector != NULL ? version->field_selector : "",
		version->field_selector != NULL && query[0] != '\0' ? "&" : "");
	char *whole = xasprintf("%s%s", path, query);
	free(collection);
	free(path);
	return whole;
}

char *reflector_page_path(const struct kind_version *version, const char *namespace,
	const struct reflector_fsm *m, const char *next_page)
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
	char *path = begin_path(version, namespace, query);
	/* The path must not end in '&' or '?'. */
	size_t len = strlen(path);
	if (path[len - 1] == '&' || path[len - 1] == '?')
		path[len - 1] = '\0';
	free(query);
	return path;
}

char *reflector_check_path(const struct kind_version *version, const char *namespace)
{
	return begin_path(version, namespace, "limit=1");
}

char *reflector_watch_path(const struct kind_version *version, const char *namespace,
	const struct reflector_fsm *m, bool is_stream, double lives_s)
{
	char *query = xasprintf(
		"watch=true&allowWatchBookmarks=true&timeoutSeconds=%d%s&resourceVersion=%s",
		(int)lives_s,
		is_stream ? "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan" : "",
		is_stream && m->consistent ? "" : m->revision.text);
	char *path = begin_path(version, namespace, query);
	free(query);
	return path;
}

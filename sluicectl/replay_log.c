// SPDX-License-Identifier: Apache-2.0
#include "sluicectl/replay_log.h"

#include <stdlib.h>

/* What stands between the next two `mark`s; *rest is moved behind it. nginx writes a quote inside as \x22. False: there is none. */
static bool take_between(struct str *rest, char open, char close, struct str *ret_text)
{
	const char *begin = str_find(*rest, open);
	if (begin == NULL)
		return false;
	struct str behind = str_skip(*rest, (size_t)(begin - rest->p) + 1);
	const char *end = str_find(behind, close);
	if (end == NULL)
		return false;
	*ret_text = (struct str){behind.p, (size_t)(end - behind.p)};
	*rest = str_skip(behind, ret_text->len + 1);
	return true;
}

/* "GET /cart HTTP/1.1" */
static bool take_request(struct str text, struct str *ret_method, struct str *ret_target)
{
	*ret_method = str_cut(&text, ' ');
	*ret_target = str_cut(&text, ' ');
	if (!str_starts_with(text, STR("HTTP/")) || ret_method->len == 0 || ret_method->len > 20)
		return false;
	for (size_t i = 0; i < ret_method->len; i++) {
		if (ret_method->p[i] < 'A' || ret_method->p[i] > 'Z')
			return false;
	}
	return replay_is_target(*ret_target);
}

/* ---- hosts ---- */

static int compare_homes(const void *left, const void *right)
{
	const struct replay_home *a = left;
	const struct replay_home *b = right;
	int order = str_cmp(a->upstream, b->upstream);
	if (order == 0)
		order = (a->path.len < b->path.len) - (a->path.len > b->path.len);
	if (order == 0)
		order = str_cmp(a->path, b->path);
	return order != 0 ? order : str_cmp(a->host, b->host);
}

static void add_home(struct replay_log *log, struct arena *arena,
	const struct migrate_ingress *ingress, const struct migrate_path *path)
{
	void *items = log->homes;
	if (!replay_is_host(path->host))
		return;
	struct replay_home *home = arena_push(arena, &items, &log->home_count, sizeof(*home));
	log->homes = items;
	*home = (struct replay_home){
		.upstream = arena_printf(arena, "%.*s-%.*s-%.*s", STR_FMT(ingress->meta.namespace),
			STR_FMT(path->service), STR_FMT(path->port)),
		.path = path->path,
		.host = path->host,
	};
}

void replay_log_find_homes(
	struct replay_log *log, const struct migrate_objects *objects, struct arena *arena)
{
	for (size_t i = 0; i < objects->ingress_count; i++) {
		const struct migrate_ingress *ingress = &objects->ingresses[i];
		for (size_t k = 0; k < ingress->path_count; k++)
			add_home(log, arena, ingress, &ingress->paths[k]);
	}
	if (log->home_count != 0)
		qsort(log->homes, log->home_count, sizeof(*log->homes), compare_homes);
}

/* Of the paths that lead to the upstream the longest one that the target begins with. */
static struct str host_of(const struct replay_log *log, struct str upstream, struct str target)
{
	size_t low = 0;
	size_t high = log->home_count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (str_cmp(log->homes[middle].upstream, upstream) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < log->home_count && str_eq(log->homes[low].upstream, upstream); low++) {
		if (str_starts_with(target, log->homes[low].path))
			return log->homes[low].host;
	}
	return log->host;
}

/* ---- lines ---- */

void replay_log_take(
	const struct replay_log *log, struct str line, struct replay_requests *requests)
{
	struct replay_request request = {.is_of_log = true};
	struct str rest = line;
	struct str text = STR("");
	struct str upstream = STR("");
	bool is_good = take_between(&rest, '[', ']', &text) &&
		       take_between(&rest, '"', '"', &text) &&
		       take_request(text, &request.method, &request.target);
	if (!is_good) {
		requests->unusable++;
		return;
	}
	/* Referer and user agent, then what only ingress-nginx writes. */
	bool has_more = take_between(&rest, '"', '"', &text);
	has_more = has_more && take_between(&rest, '"', '"', &text);
	if (has_more)
		(void)take_between(&rest, '[', ']', &upstream);
	request.host = host_of(log, upstream, request.target);
	if (!log->with_unsafe && !replay_is_safe(request.method))
		requests->unsafe++;
	else if (!replay_is_host(request.host))
		requests->homeless++;
	else
		replay_requests_add(requests, &request);
}

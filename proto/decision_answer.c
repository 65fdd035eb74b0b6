// SPDX-License-Identifier: Apache-2.0
#include "proto/decision_answer.h"

bool answer_allows_origin(const struct request_parts *parts, const struct cors *cors)
{
	struct str origin = STR_NONE;
	bool has_origin = request_header(parts, STR("origin"), &origin);
	return cors_allows(cors, has_origin, origin);
}

struct str answer_hsts(const struct hsts *hsts, struct arena *arena)
{
	return arena_printf(arena, "max-age=%llu%s%s", (unsigned long long)hsts->max_age_s,
		hsts->subdomains ? "; includeSubDomains" : "", hsts->preload ? "; preload" : "");
}

static void change(const struct request_parts *parts, struct decision_changes *changes,
	enum header_action action, const char *name, struct str value)
{
	struct decision_change *item =
		arena_push(parts->arena, (void **)&changes->items, &changes->count, sizeof(*item));
	*item = (struct decision_change){action, str_from(name), value};
}

void answer_add_cors(const struct request_parts *parts, const struct cors *cors,
	struct decision_changes *changes)
{
	struct str origin = STR_NONE;
	(void)request_header(parts, STR("origin"), &origin);
	change(parts, changes, HEADER_SET, "Access-Control-Allow-Origin",
		cors->any_origin ? STR("*") : origin);
	if (!cors->any_origin)
		change(parts, changes, HEADER_ADD, "Vary", STR("Origin"));
	if (cors->credentials)
		change(parts, changes, HEADER_SET, "Access-Control-Allow-Credentials", STR("true"));
	if (cors->methods.len != 0)
		change(parts, changes, HEADER_SET, "Access-Control-Allow-Methods", cors->methods);
	if (cors->headers.len != 0)
		change(parts, changes, HEADER_SET, "Access-Control-Allow-Headers", cors->headers);
	if (cors->expose_headers.len != 0)
		change(parts, changes, HEADER_SET, "Access-Control-Expose-Headers",
			cors->expose_headers);
	if (cors->max_age_s != 0)
		change(parts, changes, HEADER_SET, "Access-Control-Max-Age",
			arena_printf(parts->arena, "%llu", (unsigned long long)cors->max_age_s));
}

static void drop(struct http_headers *headers, struct str name)
{
	size_t kept = 0;
	for (size_t i = 0; i < headers->count; i++) {
		if (!str_eq_nocase(headers->items[i].name, name))
			headers->items[kept++] = headers->items[i];
	}
	headers->count = kept;
}

struct http_headers decision_apply(const struct http_headers *headers,
	const struct decision_changes *changes, struct arena *arena)
{
	struct http_headers to = {
		arena_calloc(arena, headers->count + changes->count + 1, sizeof(*to.items)),
		headers->count};
	for (size_t i = 0; i < headers->count; i++)
		to.items[i] = headers->items[i];
	for (size_t i = 0; i < changes->count; i++) {
		const struct decision_change *item = &changes->items[i];
		if (item->action != HEADER_ADD)
			drop(&to, item->name);
		if (item->action != HEADER_REMOVE)
			to.items[to.count++] = (struct http_header){item->name, item->value};
	}
	return to;
}

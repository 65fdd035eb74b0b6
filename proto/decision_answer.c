// SPDX-License-Identifier: Apache-2.0
#include "proto/decision_answer.h"

#include <ctype.h>

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

/* ---- what a backend says of itself ---- */

static bool fits_at(const char *at, struct str pattern, bool without_case)
{
	for (size_t i = 0; i < pattern.len; i++) {
		bool fits = pattern.p[i] == '.' || at[i] == pattern.p[i] ||
			    (without_case && tolower((unsigned char)at[i]) ==
						     tolower((unsigned char)pattern.p[i]));
		if (!fits)
			return false;
	}
	return true;
}

/* Whether the pattern fits anywhere in the text. */
static bool finds(struct str text, struct str pattern, bool without_case)
{
	for (size_t i = 0; i + pattern.len <= text.len; i++) {
		if (fits_at(text.p + i, pattern, without_case))
			return true;
	}
	return false;
}

/* False: none fits. */
static bool change_start(struct str text, const struct text_change *items, size_t count,
	struct arena *arena, struct str *ret)
{
	for (size_t i = 0; i < count; i++) {
		if (items[i].pattern && finds(text, items[i].from, false)) {
			*ret = items[i].to;
			return true;
		}
		if (items[i].pattern || !str_starts_with(text, items[i].from))
			continue;
		*ret = arena_printf(arena, "%.*s%.*s", STR_FMT(items[i].to),
			STR_FMT(str_skip(text, items[i].from.len)));
		return true;
	}
	return false;
}

static struct str without_dot(struct str domain)
{
	return str_starts_with(domain, STR(".")) ? str_skip(domain, 1) : domain;
}

static bool change_domain(
	struct str text, const struct policy *policy, struct arena *arena, struct str *ret)
{
	for (size_t i = 0; i < policy->cookie_domains.count; i++) {
		const struct text_change *item = &policy->cookie_domains.items[i];
		if (item->pattern && finds(text, item->from, true)) {
			*ret = item->to;
			return true;
		}
		if (item->pattern || !ascii_eq_nocase(without_dot(text), without_dot(item->from)))
			continue;
		*ret = arena_printf(arena, "%s%.*s", str_starts_with(text, STR(".")) ? "." : "",
			STR_FMT(without_dot(item->to)));
		return true;
	}
	return false;
}

static struct str change_attribute(
	struct str attribute, const struct policy *policy, struct arena *arena)
{
	const char *equals = str_find(attribute, '=');
	struct str value = STR_NONE;
	if (equals == NULL)
		return attribute;
	struct str name = {attribute.p, (size_t)(equals - attribute.p)};
	struct str old = str_trim(str_skip(attribute, name.len + 1));
	bool is_changed = ascii_eq_nocase(str_trim(name), STR("path"))
				  ? change_start(old, policy->cookie_paths.items,
					    policy->cookie_paths.count, arena, &value)
				  : ascii_eq_nocase(str_trim(name), STR("domain")) &&
					    change_domain(old, policy, arena, &value);
	return is_changed ? arena_printf(arena, "%.*s=%.*s", STR_FMT(name), STR_FMT(value))
			  : attribute;
}

/* A semicolon ends an attribute also where there are quotes: that is how browsers read it. */
static struct str change_cookie(struct str line, const struct policy *policy, struct arena *arena)
{
	const char *end = str_find(line, ';');
	struct str to = {line.p, end != NULL ? (size_t)(end - line.p) : line.len};
	struct str rest = str_skip(line, to.len + 1);
	while (end != NULL) {
		end = str_find(rest, ';');
		struct str attribute = {rest.p, end != NULL ? (size_t)(end - rest.p) : rest.len};
		rest = str_skip(rest, attribute.len + 1);
		attribute = change_attribute(attribute, policy, arena);
		to = arena_printf(arena, "%.*s;%.*s", STR_FMT(to), STR_FMT(attribute));
	}
	return to;
}

static bool change_location(
	struct str text, const struct policy *policy, struct arena *arena, struct str *ret)
{
	return change_start(
		text, policy->location_changes.items, policy->location_changes.count, arena, ret);
}

/* What follows the first `url=`. */
static bool change_refresh(
	struct str text, const struct policy *policy, struct arena *arena, struct str *ret)
{
	static const struct str mark = STR("url=");
	for (size_t i = 0; i + mark.len <= text.len; i++) {
		struct str url;
		if (!ascii_eq_nocase((struct str){text.p + i, mark.len}, mark))
			continue;
		i += mark.len;
		if (!change_location(str_skip(text, i), policy, arena, &url))
			return false;
		*ret = arena_printf(arena, "%.*s%.*s", (int)i, text.p, STR_FMT(url));
		return true;
	}
	return false;
}

static void rewrite_location(const struct request_parts *parts, const struct policy *policy,
	const struct http_headers *headers, struct decision_changes *changes)
{
	for (size_t i = 0; i < headers->count; i++) {
		const struct http_header *header = &headers->items[i];
		struct str value;
		if (ascii_eq_nocase(header->name, STR("location")) &&
			change_location(header->value, policy, parts->arena, &value))
			change(parts, changes, HEADER_SET, "Location", value);
		if (ascii_eq_nocase(header->name, STR("refresh")) &&
			change_refresh(header->value, policy, parts->arena, &value))
			change(parts, changes, HEADER_SET, "Refresh", value);
	}
}

static void rewrite_cookies(const struct request_parts *parts, const struct policy *policy,
	const struct http_headers *headers, struct decision_changes *changes)
{
	enum header_action action = HEADER_SET;
	for (size_t i = 0; i < headers->count; i++) {
		if (!ascii_eq_nocase(headers->items[i].name, STR("set-cookie")))
			continue;
		change(parts, changes, action, "Set-Cookie",
			change_cookie(headers->items[i].value, policy, parts->arena));
		action = HEADER_ADD;
	}
}

void answer_rewrite(const struct request_parts *parts, const struct policy *policy,
	const struct http_headers *headers, struct decision_changes *changes)
{
	rewrite_location(parts, policy, headers, changes);
	if (policy->cookie_domains.count + policy->cookie_paths.count != 0)
		rewrite_cookies(parts, policy, headers, changes);
}

static void drop(struct http_headers *headers, struct str name)
{
	size_t kept = 0;
	for (size_t i = 0; i < headers->count; i++) {
		if (!ascii_eq_nocase(headers->items[i].name, name))
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

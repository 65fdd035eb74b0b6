// SPDX-License-Identifier: Apache-2.0
/* Values of annotations that are about headers. */
#include "translator/dialects/values.h"

#include "common/ascii.h"
#include "translator/hosts.h"
#include "translator/pieces.h"

/* As in PROTOCOL.md. */
enum { VALUE_ORIGINS_MAX = 64, VALUE_TOKENS_LEN_MAX = 4096, VALUE_CHANGES_MAX = 64 };

/* The next item before the separator, without white space around it. Moves the text past both. */
static struct str take_item(struct str *text, char separator)
{
	return str_trim(str_cut(text, separator));
}

/* ---- CORS ---- */

/* Behind "://". */
static bool is_authority(struct str text)
{
	enum host_match match = HOST_ANY;
	int64_t port = 0;
	const char *colon = str_find(text, ':');
	struct str host = {text.p, colon != NULL ? (size_t)(colon - text.p) : text.len};
	if (colon != NULL && !str_to_int(str_skip(text, host.len + 1), 1, 65535, &port))
		return false;
	return host.len != 0 && host_check(host, &match) == NULL && match != HOST_ANY;
}

static bool is_origin(struct str text)
{
	size_t len = 0;
	if (str_eq_c(text, "null"))
		return true;
	while (len < text.len &&
		((text.p[len] >= 'a' && text.p[len] <= 'z') ||
			(text.p[len] >= '0' && text.p[len] <= '9') ||
			(text.p[len] != '\0' && strchr("+-.", text.p[len]) != NULL)))
		len++;
	struct str rest = str_skip(text, len);
	bool has_scheme = len != 0 && text.p[0] >= 'a' && text.p[0] <= 'z' &&
			  str_starts_with(rest, STR("://"));
	return has_scheme && is_authority(str_skip(rest, 3));
}

const char *value_origins(struct str text, struct arena *arena, bool *ret_any, struct str_list *ret)
{
	struct str_list list = {0};
	bool any = false;
	while (text.len != 0) {
		struct str item = host_lower(arena, take_item(&text, ','));
		if (item.len == 0)
			continue;
		if (str_eq_c(item, "*")) {
			any = true;
			continue;
		}
		if (!is_origin(item))
			return "\"*\", or origins such as https://example.com, "
			       "https://*.example.com or "
			       "http://localhost:3000, separated by commas, are expected";
		if (list.count == VALUE_ORIGINS_MAX)
			return "at most 64 origins are expected";
		void *items = list.items;
		*(struct str *)arena_push(arena, &items, &list.count, sizeof(item)) = item;
		list.items = items;
	}
	if (!any && list.count == 0)
		return "at least one origin is expected";
	*ret_any = any;
	if (any)
		list.count = 0;
	*ret = list;
	return NULL;
}

const char *value_tokens(struct str text, struct arena *arena, struct str *ret)
{
	char *joined = arena_alloc(arena, 2 * text.len + 1);
	size_t len = 0;
	while (text.len != 0) {
		struct str item = take_item(&text, ',');
		if (item.len == 0)
			continue;
		if (!pieces_is_token(item))
			return "names, separated by commas, are expected";
		if (len != 0) {
			str_put(joined + len, STR(", "));
			len += 2;
		}
		str_put(joined + len, item);
		len += item.len;
	}
	if (len == 0 || len > VALUE_TOKENS_LEN_MAX)
		return "at least one name, and at most 4096 bytes, are expected";
	*ret = (struct str){joined, len};
	return NULL;
}

/* ---- changes of headers ---- */

bool value_is_free_header(struct str name)
{
	static const char *const taken[] = {"connection", "content-length", "expect", "keep-alive",
		"proxy-authenticate", "proxy-authorization", "proxy-connection", "te", "trailer",
		"transfer-encoding", "upgrade"};
	for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++) {
		if (ascii_eq_nocase(name, str_from(taken[i])))
			return false;
	}
	return true;
}

/* The word at the beginning, and what follows it. */
static bool take_action(struct str *line, enum header_action *ret)
{
	static const char *const words[] = {
		[HEADER_SET] = "set ", [HEADER_ADD] = "add ", [HEADER_REMOVE] = "remove "};
	for (enum header_action action = HEADER_SET; action <= HEADER_REMOVE; action++) {
		if (!str_starts_with(*line, str_from(words[action])))
			continue;
		*line = str_trim(str_skip(*line, strlen(words[action])));
		*ret = action;
		return true;
	}
	return false;
}

static const char *read_change(
	struct str line, struct arena *arena, struct header_change *ret, bool *ret_has_groups)
{
	struct pieces pieces = {0};
	*ret = (struct header_change){0};
	if (!take_action(&line, &ret->action))
		return "\"set NAME: VALUE\", \"add NAME: VALUE\" or \"remove NAME\" is expected";
	bool is_removal = ret->action == HEADER_REMOVE;
	if (!is_removal && str_find(line, ':') == NULL)
		return "a colon is expected behind the name";
	ret->name = is_removal ? line : take_item(&line, ':');
	if (!pieces_is_token(ret->name))
		return "what stands before the value is no name of a header";
	if (!value_is_free_header(ret->name))
		return "that header belongs to the load balancer: it says how a message is sent";
	if (is_removal)
		return NULL;
	const char *problem = pieces_parse(str_trim(line), arena, &pieces);
	if (problem == NULL && pieces.list.count == 0)
		problem = "the value is empty; to take a header away, write \"remove NAME\"";
	ret->value.items = pieces.list.items;
	ret->value.count = pieces.list.count;
	*ret_has_groups |= pieces.has_groups;
	return problem;
}

const char *value_header_changes(struct str text, struct arena *arena,
	struct header_change **ret_items, size_t *ret_count, bool *ret_has_groups)
{
	void *items = NULL;
	size_t count = 0;
	*ret_has_groups = false;
	for (size_t number = 1; text.len != 0; number++) {
		struct str line = take_item(&text, '\n');
		if (line.len == 0)
			continue;
		if (count == VALUE_CHANGES_MAX)
			return "at most 64 lines are expected";
		struct header_change *place = arena_push(arena, &items, &count, sizeof(*place));
		const char *problem = read_change(line, arena, place, ret_has_groups);
		if (problem != NULL)
			return arena_printf(arena, "line %zu: %s", number, problem).p;
	}
	if (count == 0)
		return "at least one line is expected";
	*ret_items = items;
	*ret_count = count;
	return NULL;
}

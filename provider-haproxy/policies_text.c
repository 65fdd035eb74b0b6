// SPDX-License-Identifier: Apache-2.0
#include "provider-haproxy/policies_text.h"

#include "common/ascii.h"
#include "common/buf.h"
#include "provider-proxy/names.h"

#include <string.h>

/* The letters that policies.lua knows. */
static char value_letter(enum request_value value)
{
	switch (value) {
	case REQUEST_TEXT:
		return 't';
	case REQUEST_GROUP:
		return 'n';
	case REQUEST_SCHEME:
		return 's';
	case REQUEST_HOST:
		return 'h';
	case REQUEST_HOST_HEADER:
		return 'H';
	case REQUEST_PORT:
		return 'o';
	case REQUEST_METHOD:
		return 'm';
	case REQUEST_PATH:
		return 'p';
	case REQUEST_PATH_REST:
		return 'r';
	case REQUEST_QUERY:
		return 'q';
	case REQUEST_ARGUMENTS:
		return 'a';
	case REQUEST_TARGET:
		return 'u';
	case REQUEST_CLIENT:
		return 'c';
	case REQUEST_HEADER:
		return 'x';
	case REQUEST_COOKIE:
		return 'k';
	case REQUEST_ARGUMENT:
		return 'g';
	case REQUEST_TARGET_ESCAPED:
		return 'e';
	case REQUEST_ID:
		return 'i';
	case REQUEST_SERVICE:
		return 'v';
	case REQUEST_SERVICE_PORT:
		return 'w';
	case REQUEST_STATUS:
		return 'z';
	case REQUEST_TARGET_UNSLASHED:
		return 'l';
	}
	must(false);
}

static char subject_letter(enum condition_subject subject)
{
	switch (subject) {
	case CONDITION_METHOD:
		return 'm';
	case CONDITION_HEADER:
		return 'h';
	case CONDITION_QUERY:
		return 'q';
	case CONDITION_COOKIE:
		return 'c';
	}
	must(false);
}

static char match_letter(enum condition_match match)
{
	switch (match) {
	case CONDITION_EXACT:
		return 'e';
	case CONDITION_PRESENT:
		return 'p';
	case CONDITION_REGEX:
		return 'r';
	}
	must(false);
}

static char action_letter(enum header_action action)
{
	switch (action) {
	case HEADER_SET:
		return 's';
	case HEADER_ADD:
		return 'a';
	case HEADER_REMOVE:
		return 'r';
	}
	must(false);
}

static bool is_plain(char c)
{
	return ascii_is_alnum(c) || (c != 0 && strchr("-._~/:?=,*@()", c) != NULL);
}

struct str policies_encode(struct arena *arena, struct str text)
{
	static const char digits[] = "0123456789ABCDEF";
	char *out = arena_alloc(arena, 3 * text.len + 1);
	size_t len = 0;
	for (size_t i = 0; i < text.len; i++) {
		uint8_t byte = (uint8_t)text.p[i];
		if (is_plain(text.p[i])) {
			out[len++] = text.p[i];
			continue;
		}
		out[len++] = '%';
		out[len++] = digits[byte >> 4];
		out[len++] = digits[byte & 15];
	}
	return (struct str){out, len};
}

struct str policies_pool_name(struct arena *arena, struct str id)
{
	struct name name = name_of(NAME_POOL, id);
	return str_is_empty(id) ? STR("") : arena_str(arena, name_str(&name));
}

/* Lists have at most as many items as the protocol allows, and what is too long is not used. */
static struct str joined(struct arena *arena, struct str list, const char *mark, struct str item)
{
	if (list.p == NULL)
		return item;
	if (list.len > POLICIES_TEXT_LEN_MAX)
		return list;
	return arena_printf(arena, "%.*s%s%.*s", STR_FMT(list), mark, STR_FMT(item));
}

struct str policies_pieces(struct arena *arena, const struct piece *pieces, size_t count)
{
	struct str text = STR_NONE;
	for (size_t i = 0; i < count; i++) {
		struct str one = pieces[i].value == REQUEST_GROUP
					 ? arena_printf(arena, "%u", (unsigned)pieces[i].group)
					 : policies_encode(arena, pieces[i].text);
		text = joined(arena, text, "!",
			arena_printf(arena, "%c%.*s", value_letter(pieces[i].value), STR_FMT(one)));
	}
	return text.p != NULL ? text : STR("");
}

struct str policies_conditions(
	struct arena *arena, const struct condition *conditions, size_t count)
{
	struct str text = STR_NONE;
	for (size_t i = 0; i < count; i++) {
		struct str name = policies_encode(arena, conditions[i].name);
		struct str value = policies_encode(arena, conditions[i].value);
		text = joined(arena, text, "&",
			arena_printf(arena, "%c%c%.*s;%.*s", subject_letter(conditions[i].subject),
				match_letter(conditions[i].match), STR_FMT(name), STR_FMT(value)));
	}
	return text.p != NULL ? text : STR("");
}

struct str policies_changes(struct arena *arena, const struct header_change *changes, size_t count)
{
	struct str text = STR_NONE;
	for (size_t i = 0; i < count; i++) {
		struct str name = policies_encode(arena, changes[i].name);
		struct str value =
			policies_pieces(arena, changes[i].value.items, changes[i].value.count);
		text = joined(arena, text, "&",
			arena_printf(arena, "%c%.*s;%.*s", action_letter(changes[i].action),
				STR_FMT(name), STR_FMT(value)));
	}
	return text.p != NULL ? text : STR("");
}

struct str policies_text_changes(
	struct arena *arena, const struct text_change *changes, size_t count)
{
	struct str text = STR_NONE;
	for (size_t i = 0; i < count; i++) {
		struct str from = policies_encode(arena, changes[i].from);
		struct str to = policies_encode(arena, changes[i].to);
		text = joined(arena, text, "&",
			arena_printf(arena, "%.*s;%.*s%s", STR_FMT(from), STR_FMT(to),
				changes[i].pattern ? ";p" : ""));
	}
	return text.p != NULL ? text : STR("");
}

// SPDX-License-Identifier: Apache-2.0
#include "translator/pieces.h"

#include "common/ascii.h"

static const char allowed[] =
	"after '$' there can be a digit, '$', or in braces scheme, host, host-header, port, "
	"method, path, "
	"path-rest, query, arguments, target, target-escaped, client, request-id, "
	"header:NAME, cookie:NAME or argument:NAME";

/* ---- pieces ---- */

static struct piece *push(struct pieces *t, struct arena *arena)
{
	void *items = t->list.items;
	if (t->list.count == PIECES_COUNT_MAX) {
		t->problem = "it has more than 64 pieces";
		return NULL;
	}
	struct piece *piece = arena_push(arena, &items, &t->list.count, sizeof(*piece));
	t->list.items = items;
	return piece;
}

static const char *check_text(struct str text)
{
	if (text.len > PIECES_TEXT_MAX_LEN)
		return "it is longer than 2048 bytes";
	return ascii_is_printable(text) ? NULL : "it holds something else than printable ASCII";
}

void pieces_add_text(struct pieces *t, struct arena *arena, struct str text)
{
	if (t->problem != NULL || text.len == 0)
		return;
	t->problem = check_text(text);
	struct piece *piece = t->problem == NULL ? push(t, arena) : NULL;
	if (piece != NULL)
		*piece = (struct piece){.text = text};
}

void pieces_add_group(struct pieces *t, struct arena *arena, unsigned group)
{
	struct piece *piece = t->problem == NULL ? push(t, arena) : NULL;
	t->has_groups = true;
	if (piece != NULL)
		*piece = (struct piece){.value = REQUEST_GROUP, .group = group};
}

void pieces_add_value(
	struct pieces *t, struct arena *arena, enum request_value value, struct str name)
{
	struct piece *piece = t->problem == NULL ? push(t, arena) : NULL;
	if (piece != NULL)
		*piece = (struct piece){.value = value, .text = name};
}

bool pieces_is_token(struct str name)
{
	return name.len != 0 && name.len <= PIECES_NAME_MAX_LEN &&
	       ascii_is_made_of(name, "!#$%&'*+-.^_`|~");
}

/* ---- the grammar ---- */

static const struct {
	const char *word;
	enum request_value value;
	bool has_name;
} words[] = {
	{"scheme", REQUEST_SCHEME, false},
	{"host", REQUEST_HOST, false},
	{"host-header", REQUEST_HOST_HEADER, false},
	{"port", REQUEST_PORT, false},
	{"method", REQUEST_METHOD, false},
	{"path", REQUEST_PATH, false},
	{"path-rest", REQUEST_PATH_REST, false},
	{"query", REQUEST_QUERY, false},
	{"arguments", REQUEST_ARGUMENTS, false},
	{"target", REQUEST_TARGET, false},
	{"target-escaped", REQUEST_TARGET_ESCAPED, false},
	{"client", REQUEST_CLIENT, false},
	{"request-id", REQUEST_ID, false},
	{"header", REQUEST_HEADER, true},
	{"cookie", REQUEST_COOKIE, true},
	{"argument", REQUEST_ARGUMENT, true},
};

/* Names of headers are compared without case. */
/* What stands in the braces. */
static void add_word(struct pieces *t, struct arena *arena, struct str inner)
{
	const char *colon = str_find(inner, ':');
	struct str word = {inner.p, colon != NULL ? (size_t)(colon - inner.p) : inner.len};
	struct str name = colon != NULL ? str_skip(inner, word.len + 1) : STR_NONE;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (!str_eq_c(word, words[i].word) || words[i].has_name != (colon != NULL))
			continue;
		if (words[i].has_name && !pieces_is_token(name))
			break;
		if (words[i].value == REQUEST_HEADER)
			name = ascii_lower(arena, name);
		pieces_add_value(t, arena, words[i].value, name);
		return;
	}
	t->problem = allowed;
}

/* `rest` begins with '$'. Returns how much of it was taken. */
static size_t add_variable(struct pieces *t, struct arena *arena, struct str rest)
{
	char next = rest.len > 1 ? rest.p[1] : '\0';
	if (next == '$') {
		pieces_add_text(t, arena, (struct str){rest.p, 1});
		return 2;
	}
	if (ascii_is_digit(next)) {
		pieces_add_group(t, arena, (unsigned)(next - '0'));
		return 2;
	}
	const char *end = next == '{' ? str_find(rest, '}') : NULL;
	if (end == NULL) {
		t->problem = allowed;
		return rest.len;
	}
	add_word(t, arena, (struct str){rest.p + 2, (size_t)(end - rest.p) - 2});
	return (size_t)(end - rest.p) + 1;
}

const char *pieces_parse(struct str text, struct arena *arena, struct pieces *ret)
{
	struct str rest = text;
	*ret = (struct pieces){0};
	if (text.len != 0 && (text.p[0] == ' ' || text.p[text.len - 1] == ' '))
		return "it begins or ends with a blank";
	while (rest.len != 0 && ret->problem == NULL) {
		const char *dollar = str_find(rest, '$');
		size_t len = dollar != NULL ? (size_t)(dollar - rest.p) : rest.len;
		pieces_add_text(ret, arena, (struct str){rest.p, len});
		rest = str_skip(rest, len);
		if (rest.len != 0 && ret->problem == NULL)
			rest = str_skip(rest, add_variable(ret, arena, rest));
	}
	return ret->problem;
}

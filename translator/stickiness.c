// SPDX-License-Identifier: Apache-2.0
#include "translator/stickiness.h"

#include "common/ascii.h"
#include "translator/diag.h"

#include <stddef.h>

enum { STICKINESS_WORD_MAX_LEN = 128 };

enum policy_type { POLICY_WORD, POLICY_MODE, POLICY_SWITCH };

static const struct {
	const char *key;
	enum policy_type type;
	size_t offset;
} keys[] = {
	{"name", POLICY_WORD, offsetof(struct stickiness, name)},
	{"cookie", POLICY_WORD, offsetof(struct stickiness, cookie)},
	{"domain", POLICY_WORD, offsetof(struct stickiness, domain)},
	{"mode", POLICY_MODE, offsetof(struct stickiness, mode)},
	{"indirect", POLICY_SWITCH, offsetof(struct stickiness, indirect)},
	{"nocache", POLICY_SWITCH, offsetof(struct stickiness, nocache)},
	{"postonly", POLICY_SWITCH, offsetof(struct stickiness, postonly)},
};
enum { KEY_COUNT = sizeof(keys) / sizeof(keys[0]) };

static struct str trim(struct str s)
{
	while (s.len != 0 && (s.p[0] == ' ' || s.p[0] == '\t'))
		s = str_skip(s, 1);
	while (s.len != 0 && strchr(" \t\r", s.p[s.len - 1]) != NULL)
		s.len--;
	return s;
}

/* Characters that need no quotes in a cookie's name or domain, in any load balancer's configuration. */
static bool is_word(struct str s)
{
	if (s.len > STICKINESS_WORD_MAX_LEN)
		return false;
	return ascii_is_made_of(s, "-_.");
}

static const char *set_mode(struct str value, enum stickiness_mode *ret_mode)
{
	static const char *const words[] = {"insert", "rewrite", "prefix"};
	for (int i = 0; i < 3; i++) {
		if (ascii_eq_nocase(value, str_from(words[i]))) {
			*ret_mode = (enum stickiness_mode)i;
			return NULL;
		}
	}
	return "mode must be insert, rewrite or prefix";
}

static const char *set_member(
	size_t key, struct str value, struct stickiness *policy, struct arena *arena)
{
	void *member = (char *)policy + keys[key].offset;
	switch (keys[key].type) {
	case POLICY_WORD:
		if (!is_word(value))
			return arena_printf(arena,
				"%s may hold at most %d letters, digits, '.', '-' and '_'",
				keys[key].key, STICKINESS_WORD_MAX_LEN)
				.p;
		*(struct str *)member = value;
		return NULL;
	case POLICY_MODE:
		return set_mode(value, member);
	case POLICY_SWITCH:
		break;
	}
	if (!ascii_eq_nocase(value, STR("true")) && !ascii_eq_nocase(value, STR("false")))
		return arena_printf(arena, "%s must be true or false", keys[key].key).p;
	*(bool *)member = ascii_eq_nocase(value, STR("true"));
	return NULL;
}

static const char *parse_line(
	struct str line, struct stickiness *policy, unsigned *seen, struct arena *arena)
{
	const char *colon = str_find(line, ':');
	if (colon == NULL)
		return arena_printf(arena, "the line %s has no colon", diag_quote(arena, line)).p;
	struct str name = trim((struct str){line.p, (size_t)(colon - line.p)});
	struct str value = trim(str_skip(line, (size_t)(colon - line.p) + 1));
	for (size_t i = 0; i < KEY_COUNT; i++) {
		if (!str_eq_c(name, keys[i].key))
			continue;
		if ((*seen & 1U << i) != 0)
			return arena_printf(arena, "%s stands twice", keys[i].key).p;
		*seen |= 1U << i;
		return set_member(i, value, policy, arena);
	}
	return arena_printf(arena,
		"%s is not one of name, cookie, domain, mode, indirect, nocache, postonly",
		diag_quote(arena, name))
		.p;
}

const char *stickiness_parse(struct str text, struct arena *arena, struct stickiness **ret_policy)
{
	struct stickiness *policy = arena_alloc(arena, sizeof(*policy));
	unsigned seen = 0;
	while (text.len != 0) {
		struct str line = trim(str_cut(&text, '\n'));
		if (line.len == 0)
			continue;
		const char *problem = parse_line(line, policy, &seen, arena);
		if (problem != NULL)
			return problem;
	}
	if (seen == 0)
		return "it says nothing";
	*ret_policy = policy;
	return NULL;
}

bool stickiness_equal(const struct stickiness *a, const struct stickiness *b)
{
	if (a == NULL || b == NULL)
		return a == b;
	return str_eq(a->name, b->name) && str_eq(a->cookie, b->cookie) &&
	       str_eq(a->domain, b->domain) && a->mode == b->mode && a->indirect == b->indirect &&
	       a->nocache == b->nocache && a->postonly == b->postonly;
}

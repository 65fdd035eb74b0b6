// SPDX-License-Identifier: Apache-2.0
#include "translator/pieces.h"

#include "tests/unit/translator/help.h"

/* "text", "<value>", "<value name>", "<group 1>" */
static const char *shown(const struct pieces *pieces, struct arena *arena)
{
	static const char *const words[] = {[REQUEST_SCHEME] = "scheme",
		[REQUEST_HOST] = "host",
		[REQUEST_HOST_HEADER] = "host-header",
		[REQUEST_PORT] = "port",
		[REQUEST_METHOD] = "method",
		[REQUEST_PATH] = "path",
		[REQUEST_PATH_REST] = "path-rest",
		[REQUEST_QUERY] = "query",
		[REQUEST_ARGUMENTS] = "arguments",
		[REQUEST_TARGET] = "target",
		[REQUEST_CLIENT] = "client",
		[REQUEST_HEADER] = "header",
		[REQUEST_COOKIE] = "cookie",
		[REQUEST_ARGUMENT] = "argument"};
	struct str all = STR("");
	for (size_t i = 0; i < pieces->list.count; i++) {
		const struct piece *p = &pieces->list.items[i];
		const char *between = i != 0 ? " " : "";
		if (p->value == REQUEST_TEXT)
			all = arena_printf(
				arena, "%.*s%s%.*s", STR_FMT(all), between, STR_FMT(p->text));
		else if (p->value == REQUEST_GROUP)
			all = arena_printf(arena, "%.*s%s<group %llu>", STR_FMT(all), between,
				(unsigned long long)p->group);
		else
			all = arena_printf(arena, "%.*s%s<%s%s%.*s>", STR_FMT(all), between,
				words[p->value], p->text.len != 0 ? " " : "", STR_FMT(p->text));
	}
	return all.p;
}

static void texts_become_pieces(void **state)
{
	static const struct {
		const char *text;
		const char *want;
	} rows[] = {
		{"", ""},
		{"/a b", "/a b"},
		{"/$1/$0", "/ <group 1> / <group 0>"},
		{"${scheme}${host}${host-header}${port}${method}",
			"<scheme> <host> <host-header> <port> <method>"},
		{"${path}${path-rest}${query}${arguments}${target}${client}",
			"<path> <path-rest> <query> <arguments> <target> <client>"},
		{"${header:X-Id}${cookie:SID}${argument:q}",
			"<header x-id> <cookie SID> <argument q>"},
		{"a$$b", "a $ b"},
		{"$10", "<group 1> 0"},
		{"}{", "}{"},
	};
	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct arena arena;
		struct pieces pieces;
		arena_init(&arena);
		assert_null(pieces_parse(str_from(rows[i].text), &arena, &pieces));
		assert_string_equal(shown(&pieces, &arena), rows[i].want);
		assert_int_equal(pieces.has_groups, strstr(rows[i].want, "group") != NULL);
		arena_fini(&arena);
	}
}

static void what_fits_nothing_is_an_error(void **state)
{
	static const char *const rows[] = {"$", "a$", "$a", "${", "${}", "${path", "${PATH}",
		"${header}", "${header:}", "${header:a b}", "${path:x}", "${cookie:a\"}", " a",
		"a ", "a\nb", "a\tb", "\x7f", "\xc3\xa4", "$host", "${a:b}"};
	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct arena arena;
		struct pieces pieces;
		arena_init(&arena);
		if (pieces_parse(str_from(rows[i]), &arena, &pieces) == NULL)
			fail_msg("\"%s\" is accepted", rows[i]);
		arena_fini(&arena);
	}
}

static void limits(void **state)
{
	struct arena arena;
	struct pieces pieces;
	char text[PIECES_TEXT_MAX_LEN + 2];
	(void)state;
	arena_init(&arena);
	memset(text, 'a', sizeof(text));
	assert_null(pieces_parse((struct str){text, PIECES_TEXT_MAX_LEN}, &arena, &pieces));
	assert_non_null(pieces_parse((struct str){text, PIECES_TEXT_MAX_LEN + 1}, &arena, &pieces));
	for (size_t i = 0; i <= PIECES_COUNT_MAX; i++)
		memcpy(text + 2 * i, "$1", 2);
	assert_null(
		pieces_parse((struct str){text, 2 * (size_t)PIECES_COUNT_MAX}, &arena, &pieces));
	assert_non_null(pieces_parse(
		(struct str){text, 2 * (size_t)PIECES_COUNT_MAX + 2}, &arena, &pieces));
	arena_fini(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_become_pieces),
		cmocka_unit_test(what_fits_nothing_is_an_error),
		cmocka_unit_test(limits),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

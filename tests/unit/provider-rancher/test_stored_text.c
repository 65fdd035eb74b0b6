// SPDX-License-Identifier: Apache-2.0
#include "provider-rancher/stored_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#define EMOJI   "\xf0\x9f\x98\x80"
#define UNKNOWN "\xef\xbf\xbd"

static void characters_of_four_bytes_cannot_be_stored(void **state)
{
	static const struct {
		const char *in;
		bool is_good;
		const char *description;
	} rows[] = {
		{"", true, ""},
		{"plain", true, "plain"},
		{"t\xc3\xbcr \xe2\x82\xac " UNKNOWN, true, "t\xc3\xbcr \xe2\x82\xac " UNKNOWN},
		{EMOJI, false, UNKNOWN},
		{"a" EMOJI EMOJI "b", false, "a" UNKNOWN UNKNOWN "b"},
		{"\xf4\x8f\xbf\xbf!", false, UNKNOWN "!"},
	};
	struct arena arena;
	(void)state;
	arena_init(&arena);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(stored_text_is_good(str_from(rows[i].in)), rows[i].is_good);
		struct str text = stored_text_description(str_from(rows[i].in), &arena);
		assert_true(str_eq_c(text, rows[i].description));
	}
	arena_fini(&arena);
}

/* Characters count, not bytes. */
static void descriptions_end_where_the_server_ends_them(void **state)
{
	char text[2 * (STORED_DESCRIPTION_MAX + 1) + 1] = "";
	struct arena arena;
	(void)state;
	arena_init(&arena);
	for (size_t i = 0; i <= STORED_DESCRIPTION_MAX; i++)
		str_put(text + 2 * i, STR("\xc3\xbc"));
	struct str all = {text, 2 * STORED_DESCRIPTION_MAX};
	assert_int_equal(stored_text_description(all, &arena).len, all.len);
	all.len += 2;
	struct str cut = stored_text_description(all, &arena);
	assert_int_equal(cut.len, 2 * STORED_DESCRIPTION_MAX);
	assert_true(str_is_utf8(cut));
	arena_fini(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(characters_of_four_bytes_cannot_be_stored),
		cmocka_unit_test(descriptions_end_where_the_server_ends_them),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

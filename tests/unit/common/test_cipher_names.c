// SPDX-License-Identifier: Apache-2.0
#include "common/cipher_names.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static const struct {
	const char *text;
	const char *first; /* of the names; NULL: there are none */
	size_t count;      /* 0: any */
} texts[] = {
	{"ECDHE-RSA-AES128-GCM-SHA256", "ECDHE-RSA-AES128-GCM-SHA256", 1},
	{"ECDHE-RSA-AES256-GCM-SHA384:ECDHE-RSA-AES128-GCM-SHA256", "ECDHE-RSA-AES256-GCM-SHA384",
		2},
	{"nobody-knows-it:ECDHE-RSA-AES128-GCM-SHA256", "ECDHE-RSA-AES128-GCM-SHA256", 1},
	{"DEFAULT", "ECDHE-ECDSA-AES256-GCM-SHA384", 0},
	{"HIGH:!aNULL:!MD5", "ECDHE-ECDSA-AES256-GCM-SHA384", 0},
	{"ALL", "ECDHE-ECDSA-AES256-GCM-SHA384", 0},
	{"PSK", NULL, 0},
	{"TLS_AES_128_GCM_SHA256", NULL, 0},
	{"nobody-knows-it", NULL, 0},
	{"!ALL", NULL, 0},
	{"", NULL, 0},
	{"::::", NULL, 0},
	{"x;}\n server {", NULL, 0},
};

static void names_are_those_of_openssl(void **state)
{
	struct arena arena;
	(void)state;
	arena_init(&arena);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct cipher_names names;
		const char *problem = cipher_names_of(str_from(texts[i].text), &arena, &names);
		assert_int_equal(problem == NULL, texts[i].first != NULL);
		assert_int_equal(names.count != 0, texts[i].first != NULL);
		assert_true(cipher_names_are_good(&names));
		if (texts[i].count != 0)
			assert_int_equal(names.count, texts[i].count);
		if (texts[i].first != NULL)
			assert_true(str_eq_c(names.items[0], texts[i].first));
	}
	arena_fini(&arena);
}

static void a_text_that_is_too_long_is_not_read(void **state)
{
	static char text[CIPHER_TEXT_LEN_MAX + 1];
	struct cipher_names names;
	struct arena arena;
	(void)state;
	arena_init(&arena);
	memset(text, ':', sizeof(text));
	memcpy(text, "AES128-SHA", 10);
	assert_null(cipher_names_of((struct str){text, CIPHER_TEXT_LEN_MAX}, &arena, &names));
	assert_non_null(cipher_names_of((struct str){text, sizeof(text)}, &arena, &names));
	arena_fini(&arena);
}

static void only_names_are_good(void **state)
{
	static const struct {
		const char *name;
		bool is_good;
	} rows[] = {
		{"ECDHE-RSA-AES128-GCM-SHA256", true},
		{"AES128-SHA", true},
		{"NOBODY-KNOWS-IT", false},
		{"HIGH", false},
		{"0", false},
		{"", false},
		{"-AES128-SHA", false},
		{"!AES128-SHA", false},
		{"AES128-SHA:RC4", false},
		{"AES128-SHA;", false},
		{"aes128-sha", false},
		{"AES128-SHA ", false},
		{"DEFAULT@SECLEVEL=0", false},
	};
	struct arena arena;
	(void)state;
	arena_init(&arena);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct str items[] = {str_from(rows[i].name), STR("AES256-SHA")};
		struct cipher_names one = {items, 1};
		assert_int_equal(cipher_names_are_good(&one), rows[i].is_good);
	}
	struct str items[] = {STR("AES128-SHA"), STR("AES256-SHA")};
	struct cipher_names two = {items, 2};
	assert_true(cipher_names_are_good(&two));
	assert_true(str_eq_c(cipher_names_join(&two, &arena), "AES128-SHA:AES256-SHA"));
	items[1] = STR("NOBODY-KNOWS-IT");
	assert_false(cipher_names_are_good(&two));
	two.count = CIPHER_NAMES_MAX + 1;
	assert_false(cipher_names_are_good(&two));
	arena_fini(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_those_of_openssl),
		cmocka_unit_test(a_text_that_is_too_long_is_not_read),
		cmocka_unit_test(only_names_are_good),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

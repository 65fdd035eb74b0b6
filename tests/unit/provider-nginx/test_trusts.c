// SPDX-License-Identifier: Apache-2.0
/* Who is trusted, and how handshakes are made: as texts of rows, and as what nginx.conf names. */
#include "provider-nginx/terms.h"
#include "provider-nginx/trusts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static void test_terms(void **state)
{
	struct str ciphers[] = {STR("AES256-SHA"), STR("AES128-SHA")};
	const struct {
		struct pool_tls tls;
		const char *text; /* behind the base; NULL: usual ones */
	} rows[] = {
		{{.verify = TLS_VERIFY_OFF}, NULL},
		{{.verify = TLS_VERIFY_OFF, .nameless = true}, NULL},
		{{.verify = TLS_VERIFY_OFF, .max_depth = 3}, NULL},
		{{.verify = TLS_VERIFY_SYSTEM}, NULL},
		{{.verify = TLS_VERIFY_SYSTEM, .nameless = true}, "/n/0/0/0/"},
		{{.verify = TLS_VERIFY_CA, .max_depth = 1}, "/-/0/0/1/"},
		{{.verify = TLS_VERIFY_OFF, .nameless = true, .min_version = 13}, "/-/13/0/0/"},
		{{.verify = TLS_VERIFY_CA,
			 .min_version = 12,
			 .max_version = 12,
			 .ciphers = {ciphers, 2}},
			"/-/12/12/0/AES256-SHA:AES128-SHA"},
	};
	struct trust trust = {.ca = name_of(NAME_AUTHORITY, STR("a"))};
	struct arena arena;
	(void)state;
	arena_init(&arena);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct str text;
		struct terms terms;
		struct name name = terms_name(&rows[i].tls, &trust, &arena, &text);
		assert_int_equal(text.len != 0, rows[i].text != NULL);
		assert_int_equal(name.text[0] == NAME_TERMS, rows[i].text != NULL);
		if (rows[i].text == NULL)
			continue;
		assert_true(terms_read(text, &terms));
		assert_true(str_eq_c(str_skip(text, strlen(terms.base.text)), rows[i].text));
		assert_int_equal(terms.min_version, rows[i].tls.min_version);
		assert_int_equal(terms.ciphers.len != 0, rows[i].tls.ciphers.count != 0);
	}
	arena_fini(&arena);
}

static void test_other_texts_are_no_terms(void **state)
{
	static const char *const texts[] = {"", "system", "system/n/0/0/0", "system/x/0/0/0/",
		"system/n/11/0/0/", "system/n/0/14/0/", "system/n/0/0/101/", "system/n/0/0/-1/",
		"system/n/0/0/0/a;b", "system/n/0/0/0/A B", "../../etc/n/0/0/0/", "aone/n/0/0/0/",
		"nobody/n/0/0/0/"};
	struct terms terms;
	(void)state;
	assert_true(terms_read(STR("system/n/0/13/0/"), &terms));
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct str rest = str_from(texts[i]);
		bool is_short = str_eq_c(rest, "system/n/0/0/0");
		assert_int_equal(terms_read(rest, &terms), is_short);
	}
}

static void test_terms_keep_their_authority(void **state)
{
	struct name base = name_of(NAME_AUTHORITY, STR("a"));
	struct name one = {"mone"};
	struct name two = {"mtwo"};
	char text[64];
	char conf[128];
	struct trusts *trusts = trusts_new();
	(void)state;
	snprintf(text, sizeof(text), "%s/n/12/12/1/", base.text);
	trusts_use(trusts, &one, STR("PEM"), str_from(text));
	trusts_use(trusts, &one, STR("PEM"), str_from(text));
	const struct trust_view *view = trusts_next(trusts, NULL);
	assert_string_equal(view->name.text, base.text);
	assert_true(str_eq_c(view->content, "PEM"));
	view = trusts_next(trusts, view);
	assert_string_equal(view->name.text, "mone");
	assert_true(view->content.p == NULL);
	/* As after a start: rows name terms that only nginx.conf knows. */
	trusts_use(trusts, &two, STR_NONE, STR_NONE);
	snprintf(conf, sizeof(conf), "\n# trusts %s\n# trusts mtwo:%s\n", base.text, text);
	trusts_set_live(trusts, str_from(conf));
	assert_true(trusts_is_live(trusts, &base) && trusts_is_live(trusts, &two));
	assert_false(trusts_is_live(trusts, &one));
	trusts_drop(trusts, &one);
	trusts_drop(trusts, &one);
	view = trusts_next(trusts, NULL);
	assert_string_equal(view->name.text, base.text);
	view = trusts_next(trusts, view);
	assert_true(str_eq_c(view->terms, text));
	trusts_drop(trusts, &two);
	assert_null(trusts_next(trusts, NULL));
	trusts_set_live(trusts, STR(""));
	assert_false(trusts_has(trusts, &base));
	trusts_free(trusts);
}

static void test_trusts_live_and_go(void **state)
{
	struct name one = {"aone"};
	struct name two = {"atwo"};
	struct trusts *trusts = trusts_new();
	(void)state;
	trusts_use(trusts, &one, STR("PEM"), STR_NONE);
	assert_true(trusts_take_change(trusts));
	assert_false(trusts_take_change(trusts));
	assert_false(trusts_is_live(trusts, &one));
	trusts_set_live(trusts, STR("\n# ports 80\n# trusts aone atwo\nuser x;\n"));
	assert_true(trusts_is_live(trusts, &one) && trusts_is_live(trusts, &two));
	/* It is there, but nobody wants it. */
	const struct trust_view *view = trusts_next(trusts, NULL);
	assert_string_equal(view->name.text, "aone");
	assert_true(str_eq_c(view->content, "PEM"));
	assert_null(trusts_next(trusts, view));
	trusts_use(trusts, &one, STR("PEM"), STR_NONE);
	trusts_drop(trusts, &one);
	assert_false(trusts_take_change(trusts));
	trusts_drop(trusts, &one);
	assert_true(trusts_take_change(trusts));
	assert_null(trusts_next(trusts, NULL));
	assert_true(trusts_is_live(trusts, &one));
	trusts_set_live(trusts, STR(""));
	assert_false(trusts_is_live(trusts, &one));
	trusts_free(trusts);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_terms),
		cmocka_unit_test(test_other_texts_are_no_terms),
		cmocka_unit_test(test_terms_keep_their_authority),
		cmocka_unit_test(test_trusts_live_and_go),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

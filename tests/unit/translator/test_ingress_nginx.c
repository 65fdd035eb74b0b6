// SPDX-License-Identifier: Apache-2.0
#include "translator/dialects/ingress_nginx_parts.h"

#include "tests/unit/translator/help.h"

#include <stdlib.h>

static const struct {
	const char *text;
	const char *want; /* pieces, with a blank between them; NULL: it is refused */
} piece_rows[] = {
	{"", ""},
	{"/x", "/x"},
	{"/$1/$2x", "/ <1> / <2> x"},
	{"/$12", "/ <1> 2"},
	{"/${1}2", "/ <1> 2"},
	{"$scheme://$host$request_uri", "<scheme> :// <host> <target>"},
	{"${http_x_my_name}", "<header:x-my-name>"},
	{"$HTTP_X", NULL},
	{"$cookie_a_B", "<cookie:a_B>"},
	{"$arg_q", "<argument:q>"},
	{"/x$is_args$args", "/x <arguments>"},
	{"/x?$args", "/x? <query>"},
	{"$is_args", NULL},
	{"$namespace-$ingress_name", "ns - web"},
	{"$0", NULL},
	{"$", NULL},
	{"a$", NULL},
	{"${", NULL},
	{"${host", NULL},
	{"${}", NULL},
	{"$http_", NULL},
	{"$hostname", NULL},
	{"$document_root", NULL},
	{"$upstream_addr", NULL},
};

static const char *name_of(enum request_value value)
{
	static const char *const names[] = {[REQUEST_SCHEME] = "scheme",
		[REQUEST_HOST] = "host",
		[REQUEST_TARGET] = "target",
		[REQUEST_QUERY] = "query",
		[REQUEST_ARGUMENTS] = "arguments",
		[REQUEST_HEADER] = "header",
		[REQUEST_COOKIE] = "cookie",
		[REQUEST_ARGUMENT] = "argument"};
	return names[value];
}

static struct str describe(struct arena *arena, const struct pieces *pieces)
{
	struct str text = STR("");
	for (size_t i = 0; i < pieces->list.count; i++) {
		const struct piece *piece = &pieces->list.items[i];
		const char *gap = i != 0 ? " " : "";
		if (piece->value == REQUEST_TEXT)
			text = arena_printf(
				arena, "%.*s%s%.*s", STR_FMT(text), gap, STR_FMT(piece->text));
		else if (piece->value == REQUEST_GROUP)
			text = arena_printf(
				arena, "%.*s%s<%d>", STR_FMT(text), gap, (int)piece->group);
		else
			text = arena_printf(arena, "%.*s%s<%s%s%.*s>", STR_FMT(text), gap,
				name_of(piece->value), piece->text.len != 0 ? ":" : "",
				STR_FMT(piece->text));
	}
	return text;
}

static void test_pieces(void **state)
{
	const struct object_ref self = {.namespace = STR("ns"), .name = STR("web")};
	struct arena arena;
	(void)state;
	arena_init(&arena);
	for (size_t i = 0; i < COUNT_OF(piece_rows); i++) {
		struct pieces pieces = {0};
		const char *problem =
			nginx_pieces_add(&pieces, str_from(piece_rows[i].text), &self, &arena);
		if ((problem == NULL) != (piece_rows[i].want != NULL))
			fail_msg("%s: %s", piece_rows[i].text, problem);
		if (problem == NULL)
			assert_text(describe(&arena, &pieces), piece_rows[i].want);
	}
	arena_fini(&arena);
}

/* More variables than a text may have pieces. */
static void test_pieces_have_a_limit(void **state)
{
	const struct object_ref self = {.namespace = STR("ns"), .name = STR("web")};
	struct pieces pieces = {0};
	struct arena arena;
	char text[2 * (PIECES_COUNT_MAX + 1) + 1];
	(void)state;
	arena_init(&arena);
	for (size_t i = 0; i < PIECES_COUNT_MAX + 1; i++)
		memcpy(text + 2 * i, "$1", 3);
	assert_non_null(nginx_pieces_add(&pieces, str_from(text), &self, &arena));
	arena_fini(&arena);
}

/* ---- what closes ---- */

static const struct {
	const char *key;
	const char *value;
	bool is_closed;
} guard_rows[] = {
	{"allowlist-source-range", "10.0.0.0/8", false},
	{"allowlist-source-range", "10.0.0.0/8,", false},
	{"allowlist-source-range", ",", true},
	{"allowlist-source-range", "10.0.0.0/8;", true},
	{"allowlist-source-range", "::ffff:10.0.0.1/129", true},
	{"denylist-source-range", "all", true},
	{"auth-type", "basic", true}, /* no Secret */
	{"auth-type", "digest", true},
	{"auth-type", "Basic auth", true},
	{"auth-url", "x", true},
	{"auth-tls-secret", "x", true},
	{"auth-tls-match-cn", "CN=x", false},    /* does nothing without auth-tls-secret */
	{"auth-tls-verify-client", "on", false}, /* likewise */
	{"auth-realm", "a\"b", false},
	{"satisfy", "both", false},
	{"limit-rps", "x", true},
	{"limit-rps", "-1", false},
	{"limit-rpm", "1m", true},
	{"limit-connections", "", true},
	{"limit-burst-multiplier", "x", false},
	{"proxy-ssl-secret", "x", true},
	{"backend-protocol", "FCGI", true},
	{"backend-protocol", "TCP", false},
	{"rewrite-target", "{", false},
	{"permanent-redirect", "{", false},
	{"enable-cors", "maybe", false},
	{"proxy-body-size", "x", false},
	{"server-snippet", "deny all;", false},
	{"enable-modsecurity", "true", false},
};

static bool is_closed_by(struct arena *arena, const char *key, const char *value)
{
	struct annotation item = {
		arena_printf(arena, INGRESS_NGINX_PREFIX "/%s", key), str_from(value)};
	const struct ingress_record ingress = {
		.key = {.namespace = STR("ns"), .name = STR("web")}, .annotations = {&item, 1}};
	struct diag_list diags;
	struct route_settings route = {0};
	struct annotation_values values = {0};
	struct nginx_values nginx;
	diag_list_init(&diags, arena);
	const struct dialect dialect = {&ingress, {STR("ns"), STR("web")}, arena, &diags, &route};
	const struct nginx_teller teller = {&dialect.self, arena, &diags};
	nginx_values_read(&ingress, STR_NONE, &teller, &nginx);
	ingress_nginx_read_values(&ingress, &nginx, &teller, &values);
	ingress_nginx_read_route(&dialect, &nginx, 443);
	/* Whatever closes is told. */
	if (route.is_closed)
		assert_int_not_equal(diags.count, 0);
	return route.is_closed;
}

static void test_guards_close(void **state)
{
	struct arena arena;
	(void)state;
	arena_init(&arena);
	for (size_t i = 0; i < COUNT_OF(guard_rows); i++) {
		if (is_closed_by(&arena, guard_rows[i].key, guard_rows[i].value) !=
			guard_rows[i].is_closed)
			fail_msg("%s: %s", guard_rows[i].key, guard_rows[i].value);
	}
	arena_fini(&arena);
}

/* No annotation takes a control character, a quote, a brace or a semicolon into what a provider gets. */
static void test_hostile_values_are_refused(void **state)
{
	static const char *const payloads[] = {"a\nb", "a\rb", "a;b", "a{b}", "a\"b", "a'b", "a`b"};
	struct arena arena;
	(void)state;
	arena_init(&arena);
	for (size_t row = 0; row < NGINX_ROW_COUNT; row++) {
		const struct nginx_spec *spec = &nginx_specs[row];
		/* Expressions are for PCRE2, and texts are looked into by who reads them. */
		if (spec->kind == NGINX_RAW || spec->kind == NGINX_TEXT ||
			spec->kind == NGINX_NETWORKS)
			continue;
		for (size_t i = 0; i < COUNT_OF(payloads); i++) {
			bool is_brace = strchr(payloads[i], '{') != NULL;
			bool takes_braces =
				spec->kind == NGINX_REGEX || spec->kind == NGINX_HOSTS ||
				spec->kind == NGINX_VARIABLES || spec->kind == NGINX_HASH;
			if (is_brace && takes_braces)
				continue;
			if (nginx_value_check(spec, str_from(payloads[i])) == NULL)
				fail_msg("%s takes %s", spec->name, payloads[i]);
		}
	}
	arena_fini(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pieces),
		cmocka_unit_test(test_pieces_have_a_limit),
		cmocka_unit_test(test_guards_close),
		cmocka_unit_test(test_hostile_values_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

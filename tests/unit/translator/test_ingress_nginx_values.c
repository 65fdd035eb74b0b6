// SPDX-License-Identifier: Apache-2.0
#include "translator/dialects/ingress_nginx_values.h"

#include "tests/unit/translator/help.h"

#include <stdlib.h>

/* As many as the original had in its last version. */
enum { ANNOTATIONS = 136, ALIASES = 2, RAW_TEXTS = 5 };

struct fixture {
	struct arena arena;
	struct diag_list diags;
	struct object_ref self;
	struct nginx_teller teller;
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	arena_init(&f->arena);
	diag_list_init(&f->diags, &f->arena);
	f->self = (struct object_ref){.namespace = STR("default"), .name = STR("web")};
	f->teller = (struct nginx_teller){&f->self, &f->arena, &f->diags};
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	arena_fini(&f->arena);
	free(f);
	return 0;
}

static void test_all_are_there(void **state)
{
	size_t aliases = 0;
	size_t raw = 0;
	(void)state;
	assert_int_equal(NGINX_ROW_COUNT, ANNOTATIONS);
	for (size_t i = 0; i < NGINX_ROW_COUNT; i++) {
		const struct nginx_spec *spec = &nginx_specs[i];
		aliases += spec->alias != NULL;
		raw += spec->kind == NGINX_RAW;
		if (i != 0)
			assert_true(strcmp(nginx_specs[i - 1].name, spec->name) < 0);
		assert_int_equal(spec->words != NULL && spec->kind != NGINX_BOOL,
			spec->kind == NGINX_WORDS || spec->kind == NGINX_WORD_LIST);
	}
	assert_int_equal(aliases, ALIASES);
	assert_int_equal(raw, RAW_TEXTS);
}

/* What does not do the same has a note, which says what it does. */
static void test_differences_are_named(void **state)
{
	(void)state;
	for (size_t i = 0; i < NGINX_ROW_COUNT; i++) {
		const struct nginx_spec *spec = &nginx_specs[i];
		bool is_same = spec->on_nginx == NGINX_SAME && spec->on_haproxy == NGINX_SAME;
		if (is_same == (spec->note != NULL))
			fail_msg("%s: a note is there exactly if it differs", spec->name);
		/* What needs a word of the provider may be refused by HAProxy alone. */
		bool is_refused = spec->on_nginx == NGINX_REFUSED;
		bool is_refused_there = spec->on_haproxy == NGINX_REFUSED;
		if (is_refused_there && !is_refused && spec->word == NULL)
			fail_msg("%s: nobody but a provider without its word refuses it",
				spec->name);
		if (is_refused && !is_refused_there)
			fail_msg("%s is refused by name, whatever the provider", spec->name);
	}
}

static const struct {
	const char *key;
	const char *value;
	const char *want; /* the text; NULL: not set */
	enum nginx_row row;
	const char *reasons;
	bool is_closed;
} rows[] = {
	{"ssl-redirect", "false", "false", NGINX_ROW_ssl_redirect, ""},
	{"ssl-redirect", " T\n", "T", NGINX_ROW_ssl_redirect, ""},
	{"ssl-redirect", "no", NULL, NGINX_ROW_ssl_redirect, "InvalidAnnotation"},
	{"ssl-redirect", "", NULL, NGINX_ROW_ssl_redirect, ""},
	{"limit-rps", "10", "10", NGINX_ROW_limit_rps, ""},
	{"limit-rps", "+1", "+1", NGINX_ROW_limit_rps, ""},
	{"limit-rps", "1.5", NULL, NGINX_ROW_limit_rps, "InvalidAnnotation", true},
	{"limit-rps", "", NULL, NGINX_ROW_limit_rps, "InvalidAnnotation", true},
	{"allowlist-source-range", "", NULL, NGINX_ROW_allowlist_source_range, "InvalidAnnotation",
		true},
	{"whitelist-source-range", "10.0.0.0/8", "10.0.0.0/8", NGINX_ROW_allowlist_source_range,
		""},
	{"limit-whitelist", "10.0.0.1", "10.0.0.1", NGINX_ROW_limit_allowlist, ""},
	{"proxy-body-size", "8M", "8M", NGINX_ROW_proxy_body_size, ""},
	{"proxy-body-size", "10mb", NULL, NGINX_ROW_proxy_body_size, "InvalidAnnotation"},
	{"proxy-body-size", "m", NULL, NGINX_ROW_proxy_body_size, "InvalidAnnotation"},
	{"auth-type", "basic", "basic", NGINX_ROW_auth_type, ""},
	{"auth-type", "nobasic", NULL, NGINX_ROW_auth_type, "InvalidAnnotation", true},
	{"auth-type", "", NULL, NGINX_ROW_auth_type, "InvalidAnnotation", true},
	{"auth-url", "http://auth.test", "http://auth.test", NGINX_ROW_auth_url, ""},
	{"auth-url", "", NULL, NGINX_ROW_auth_url, "InvalidAnnotation", true},
	{"auth-url", "http://a;b", NULL, NGINX_ROW_auth_url, "InvalidAnnotation", true},
	{"auth-response-headers", "X;Y", NULL, NGINX_ROW_auth_response_headers, "InvalidAnnotation",
		true},
	{"auth-signin", "x y\n;", NULL, NGINX_ROW_auth_signin, "InvalidAnnotation"},
	{"auth-signin", "", NULL, NGINX_ROW_auth_signin, ""},
	{"auth-tls-secret", "default/ca", "default/ca", NGINX_ROW_auth_tls_secret, ""},
	{"auth-tls-secret", "a;b", NULL, NGINX_ROW_auth_tls_secret, "InvalidAnnotation", true},
	{"rewrite-target", "/$2", "/$2", NGINX_ROW_rewrite_target, ""},
	{"rewrite-target", "/x;y", NULL, NGINX_ROW_rewrite_target, "InvalidAnnotation"},
	{"rewrite-target", "/x\ny", NULL, NGINX_ROW_rewrite_target, "InvalidAnnotation"},
	{"permanent-redirect", "https://p.test$request_uri", NULL, NGINX_ROW_permanent_redirect,
		"InvalidAnnotation"},
	{"cors-allow-methods", "GET, POST", "GET, POST", NGINX_ROW_cors_allow_methods, ""},
	{"cors-allow-methods", "GET;", NULL, NGINX_ROW_cors_allow_methods, "InvalidAnnotation"},
	{"enable-modsecurity", "true", NULL, NGINX_ROW_enable_modsecurity, "NotSupported"},
	{"enable-modsecurity", "false", NULL, NGINX_ROW_enable_modsecurity, ""},
	{"proxy-buffering", "off", "off", NGINX_ROW_proxy_buffering, ""},
	{"proxy-buffering", "yes", NULL, NGINX_ROW_proxy_buffering, "InvalidAnnotation"},
	{"proxy-next-upstream", "error timeout http_502", "error timeout http_502",
		NGINX_ROW_proxy_next_upstream, ""},
	{"proxy-next-upstream", "http_418", NULL, NGINX_ROW_proxy_next_upstream,
		"InvalidAnnotation"},
	{"custom-headers", "default/map", "default/map", NGINX_ROW_custom_headers, ""},
	{"server-snippet", "return 403;", NULL, NGINX_ROW_server_snippet, "SnippetRefused"},
	{"rewrite-targt", "/", NULL, NGINX_ROW_rewrite_target, "UnknownAnnotation"},
	{"Rewrite-Target", "/", NULL, NGINX_ROW_rewrite_target, "UnknownAnnotation"},
	{"", "/", NULL, NGINX_ROW_rewrite_target, "UnknownAnnotation"},
};

static void read_one(struct fixture *f, const char *prefix, const char *key, const char *value,
	struct nginx_values *ret_values)
{
	struct annotation item = {arena_printf(&f->arena, "%s/%s", prefix, key), str_from(value)};
	struct ingress_record ingress = {.annotations = {&item, 1}};
	/* Texts are views, so the item must live as long as what is told. */
	nginx_values_read(&ingress, STR_NONE, &f->teller, ret_values);
}

static void test_values(void **state)
{
	struct fixture *f = *state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct nginx_values values;
		diag_list_init(&f->diags, &f->arena);
		read_one(f, INGRESS_NGINX_PREFIX, rows[i].key, rows[i].value, &values);
		const struct nginx_value *got = &values.items[rows[i].row];
		const char *reasons = reasons_of(&f->diags);
		if (got->is_set != (rows[i].want != NULL) ||
			strcmp(reasons, rows[i].reasons) != 0 ||
			values.is_closed != rows[i].is_closed)
			fail_msg("%s=%s: set %d, closed %d, %s", rows[i].key, rows[i].value,
				got->is_set, values.is_closed, reasons);
		if (rows[i].want != NULL)
			assert_text(got->text, rows[i].want);
	}
}

/* The main name counts unless it is empty, in whichever order they come. */
static void test_alias(void **state)
{
	struct fixture *f = *state;
	struct annotation items[] = {
		{STR(INGRESS_NGINX_PREFIX "/whitelist-source-range"), STR("2.2.2.2")},
		{STR(INGRESS_NGINX_PREFIX "/allowlist-source-range"), STR("1.1.1.1")},
		{STR(INGRESS_NGINX_PREFIX "/whitelist-source-range"), STR("3.3.3.3")},
	};
	struct ingress_record ingress = {.annotations = {items, 2}};
	struct nginx_values values;
	nginx_values_read(&ingress, STR_NONE, &f->teller, &values);
	assert_text(values.items[NGINX_ROW_allowlist_source_range].text, "1.1.1.1");
	ingress.annotations.items = &items[1];
	nginx_values_read(&ingress, STR_NONE, &f->teller, &values);
	assert_text(values.items[NGINX_ROW_allowlist_source_range].text, "1.1.1.1");
	items[1].value = STR(" ");
	nginx_values_read(&ingress, STR_NONE, &f->teller, &values);
	assert_text(values.items[NGINX_ROW_allowlist_source_range].text, "3.3.3.3");
	assert_string_equal(reasons_of(&f->diags), "");
}

static void test_prefix(void **state)
{
	struct fixture *f = *state;
	struct nginx_values values;
	read_one(f, "nginx.ingress.kubernetes.iox", "ssl-redirect", "no", &values);
	read_one(f, "sluice.io", "ssl-redirect", "no", &values);
	assert_string_equal(reasons_of(&f->diags), "");
	struct annotation item = {STR("nginx.example/ssl-redirect"), STR("false")};
	struct ingress_record ingress = {.annotations = {&item, 1}};
	nginx_values_read(&ingress, STR("nginx.example"), &f->teller, &values);
	assert_false(nginx_value_is_on(&values, NGINX_ROW_ssl_redirect, true));
}

static void test_snippet_names_what_to_write(void **state)
{
	struct fixture *f = *state;
	struct nginx_values values;
	read_one(f, INGRESS_NGINX_PREFIX, "configuration-snippet",
		"# add_header\nmore_set_headers \"X-A: ; deny all\";\nif ($http_x) { return 403; "
		"}\n"
		"more_set_headers 'X-B: b';",
		&values);
	diag_list_finish(&f->diags);
	assert_int_equal(f->diags.count, 1);
	const char *message = f->diags.items[0].message.p;
	assert_non_null(strstr(message, "for more_set_headers write sluice.io/response-headers"));
	assert_non_null(strstr(message, "for if write "));
	assert_non_null(strstr(message, "for return write permanent-redirect"));
	assert_null(strstr(message, "deny"));
	assert_null(strstr(message, "add_header"));
}

static void test_similar_name(void **state)
{
	struct fixture *f = *state;
	struct nginx_values values;
	read_one(f, INGRESS_NGINX_PREFIX, "rewrite-targt", "/", &values);
	diag_list_finish(&f->diags);
	assert_non_null(strstr(f->diags.items[0].message.p, "rewrite-target"));
}

static void test_verdicts(void **state)
{
	struct fixture *f = *state;
	struct annotation items[] = {
		{STR(INGRESS_NGINX_PREFIX "/auth-keepalive"), STR("1")},
		{STR(INGRESS_NGINX_PREFIX "/backend-protocol"), STR("GRPC")},
		{STR(INGRESS_NGINX_PREFIX "/enable-cors"), STR("true")},
		{STR(INGRESS_NGINX_PREFIX "/proxy-body-size"), STR("1m")},
		{STR(INGRESS_NGINX_PREFIX "/ssl-redirect"), STR("true")},
		{STR(INGRESS_NGINX_PREFIX "/use-regex"), STR("true")},
	};
	struct ingress_record ingress = {.annotations = {items, COUNT_OF(items)}};
	nginx_values_tell_verdicts(&ingress, STR_NONE, &f->teller);
	assert_string_equal(
		reasons_of(&f->diags), "AnnotationDecided AnnotationDiffers AnnotationNotNeeded");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_are_there),
		cmocka_unit_test(test_differences_are_named),
		cmocka_unit_test_setup_teardown(test_values, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_alias, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_prefix, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			test_snippet_names_what_to_write, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_similar_name, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_verdicts, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

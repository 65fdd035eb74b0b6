// SPDX-License-Identifier: Apache-2.0
#include "translator/dialects/ingress_nginx_configmap.h"
#include "translator/dialects/ingress_nginx_forwarding.h"

#include "tests/unit/translator/help.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What people are told who have yet to move. */
static const struct {
	const char *key;
	const char *usual;
	const char *on_nginx;
	const char *on_haproxy;
	const char *text;
} told[] = {
#define MIGRATE_OPTION(key_, usual_, nginx_, haproxy_, text_) \
	{(key_), (usual_), #nginx_, #haproxy_, (text_)},
#include "sluicectl/migrate_options.def"
};

struct fixture {
	struct arena arena;
	struct diag_list diags;
	struct config_map_record map;
	struct config_map_record named; /* by options */
	struct nginx_options options;
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	arena_init(&f->arena);
	diag_list_init(&f->diags, &f->arena);
	f->map.key = (struct record_key){RECORD_CONFIG_MAP, STR("ns"), STR("options"), STR("u")};
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

static const struct config_map_record *find(void *ctx, struct str key)
{
	struct fixture *f = ctx;
	return str_eq_c(key, "ns/named") ? &f->named : NULL;
}

static void read_entries(struct fixture *f, struct config_entry *entries, size_t count)
{
	f->map.entries.items = entries;
	f->map.entries.count = count;
	f->diags.count = 0;
	const struct nginx_configmap source = {.map = &f->map,
		.key = STR("ns/options"),
		.find = find,
		.ctx = f,
		.diags = &f->diags};
	nginx_configmap_read(&source, &f->arena, &f->options);
}

static void read_one(struct fixture *f, const char *key, const char *value)
{
	struct config_entry entry = {.key = str_from(key), .value = str_from(value)};
	read_entries(f, &entry, 1);
}

static const char *reason_of(const struct fixture *f)
{
	return f->diags.count != 0 ? f->diags.items[0].reason.p : "";
}

/* ---- the table ---- */

static const char *word_of(enum nginx_verdict verdict)
{
	static const char *const words[] = {[NGINX_SAME] = "SAME",
		[NGINX_DECIDED] = "DECIDED",
		[NGINX_NEAR] = "NEAR",
		[NGINX_NOTHING] = "NOTHING",
		[NGINX_LATER] = "LATER",
		[NGINX_REFUSED] = "REFUSED"};
	return words[verdict];
}

static bool same(const char *a, const char *b)
{
	return strcmp(a != NULL ? a : "", b != NULL ? b : "") == 0;
}

static void test_people_are_told_the_same_before_they_move(void **state)
{
	assert_int_equal(nginx_option_spec_count, COUNT_OF(told));
	for (size_t i = 0; i < COUNT_OF(told); i++) {
		const struct nginx_option_spec *spec = nginx_option_find(str_from(told[i].key));
		bool good = spec != NULL && same(spec->usual, told[i].usual) &&
			    same(word_of(spec->on_nginx), told[i].on_nginx) &&
			    same(word_of(spec->on_haproxy), told[i].on_haproxy) &&
			    same(spec->note, told[i].text);
		if (!good)
			fail_msg("%s differs in the two tables", told[i].key);
	}
}

static void test_differences_are_named(void **state)
{
	for (size_t i = 0; i < nginx_option_spec_count; i++) {
		const struct nginx_option_spec *spec = &nginx_option_specs[i];
		bool is_same = spec->on_nginx == NGINX_SAME && spec->on_haproxy == NGINX_SAME;
		if (is_same != (spec->note == NULL))
			fail_msg("%s: a note is expected if something differs", spec->key);
	}
}

/* ---- values ---- */

static void test_values(void **state)
{
	static const struct {
		const char *key;
		const char *value;
		const char *reason; /* empty: it counts, or means nothing */
		bool closes;
	} rows[] = {
		{"proxy-body-size", "8m", ""},
		{"proxy-body-size", " 8m ", ""},
		{"proxy-body-size", "", ""},
		{"proxy-body-size", "8mb", "InvalidOption"},
		{"proxy-read-timeout", "0", "InvalidOption"},
		{"ssl-redirect", "no", "InvalidOption"},
		{"http-redirect-code", "302", ""},
		{"http-redirect-code", "303", "InvalidOption"},
		{"hsts-max-age", "-1", "InvalidOption"},
		{"hsts-max-age", "99999999999", "InvalidOption"},
		{"limit-req-status-code", "399", "InvalidOption"},
		{"limit-conn-status-code", "600", "InvalidOption"},
		{"custom-http-errors", "404,503", ""},
		{"custom-http-errors", "404,200", "InvalidOption"},
		{"whitelist-source-range", "10.0.0.0/8, ::1", ""},
		{"whitelist-source-range", "10.0.0.0/33", "InvalidOption", true},
		{"denylist-source-range", "x", "InvalidOption", true},
		{"block-cidrs", "10.0.0.0/8", ""},
		{"block-cidrs", "x", "InvalidOption", true},
		{"hide-headers", "X-A,X-B X-C", ""},
		{"hide-headers", "X A:", "InvalidOption"},
		{"global-allowed-response-headers", "X-A", ""},
		{"add-headers", "ns/named", ""},
		{"add-headers", "ns/none", "InvalidOption"},
		{"proxy-set-headers", "named", "InvalidOption"},
		{"proxy-next-upstream", "http_418", "InvalidOption"},
		{"proxy-cookie-path", "/ /x/ /y/", "InvalidOption"},
		{"global-auth-url", "http://a.b.svc.cluster.local/x", ""},
		{"global-auth-url", "ftp://a", "InvalidOption"},
		{"global-auth-method", "get it", ""}, /* without a URL it means nothing */
		{"keep-alive", "1", ""},
		{"use-forwarded-headers", "true", "TrustsEverybody"},
		{"use-forwarded-headers", "false", ""},
		{"use-forwarded-headers", "yes", "InvalidOption"},
		{"enable-real-ip", "true", "TrustsEverybody"},
		{"use-proxy-protocol", "true", "TrustsEverybody"},
		{"proxy-real-ip-cidr", "10.0.0.0/8,fd00::/8", ""},
		{"proxy-real-ip-cidr", "all", "InvalidOption"},
		{"forwarded-for-header", "CF-Connecting-IP", ""},
		{"forwarded-for-header", "X Y", "InvalidOption"},
		{"forwarded-for-header", "X;", "InvalidOption"},
		{"generate-request-id", "false", ""},
		{"generate-request-id", "no", "InvalidOption"},
		{"proxy-stream-timeout", "30s", ""},
		{"proxy-stream-timeout", "10", ""},
		{"proxy-stream-timeout", "0", "InvalidOption"},
		{"proxy-stream-timeout", "1h;", "InvalidOption"},
		{"proxy-stream-responses", "0", ""},
		{"proxy-stream-responses", "-1", "InvalidOption"},
		{"proxy-stream-responses", "1000001", "InvalidOption"},
		{"proxy-stream-next-upstream", "false", "NotSupported"},
		{"block-user-agents", "x", "NotSupported"},
		{"http-snippet", "x", "NotSupported"},
		{"Proxy-Body-Size", "8m", "UnknownOption"},
		{"proxy-body-size", "8m\n;}", "InvalidOption"},
		{"proxy-set-headers", "ns/named;}", "InvalidOption"},
	};
	struct fixture *f = *state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		read_one(f, rows[i].key, rows[i].value);
		bool is_method = strcmp(rows[i].key, "global-auth-method") == 0;
		if ((!is_method && !same(reason_of(f), rows[i].reason)) ||
			(f->options.closed_by != NULL) != rows[i].closes)
			fail_msg("%s: %s: %s, closed %d", rows[i].key, rows[i].value, reason_of(f),
				f->options.closed_by != NULL);
		assert_true(
			f->options.auth_closed_by == NULL || strcmp(rows[i].value, "ftp://a") == 0);
	}
}

static void test_a_value_that_is_too_long_hurts_only_itself(void **state)
{
	struct fixture *f = *state;
	struct config_entry entries[] = {
		{.key = STR("proxy-body-size"), .value = STR("8m")},
		{.key = STR("proxy-cookie-domain"), .is_too_long = true},
		{.key = STR("whitelist-source-range"), .is_too_long = true},
	};
	read_entries(f, entries, COUNT_OF(entries));
	assert_int_equal(f->diags.count, 2);
	assert_true(f->options.defaults[NGINX_ROW_proxy_body_size].is_set);
	assert_false(f->options.defaults[NGINX_ROW_proxy_cookie_domain].is_set);
	assert_non_null(
		strstr(f->options.closed_by, "whitelist-source-range, of ConfigMap ns/options"));
}

static void test_headers_have_a_limit(void **state)
{
	struct fixture *f = *state;
	struct config_entry headers[66] = {0};
	for (size_t i = 0; i < COUNT_OF(headers); i++)
		headers[i] = (struct config_entry){
			.key = arena_printf(&f->arena, "X-%zu", i), .value = STR("$host")};
	headers[3].value = STR("$nobody");
	f->named.entries.items = headers;
	f->named.entries.count = COUNT_OF(headers);
	read_one(f, "add-headers", "ns/named");
	assert_int_equal(f->options.add_headers.count, 64);
	assert_int_equal(f->diags.count, 2);
}

/* ---- proxies in front ---- */

static void test_who_is_believed(void **state)
{
	static const struct {
		const char *keys[3]; /* that are "true" */
		const char *networks;
		const char *trusted; /* the first one; empty: nobody */
		bool believes_scheme;
		bool appends;
		bool trusts_all;
	} rows[] = {
		{{NULL}, "10.0.0.0/8", ""},
		{{"compute-full-forwarded-for"}, "10.0.0.0/8", ""},
		{{"use-forwarded-headers"}, "10.0.0.0/8", "10.0.0.0/8", true},
		{{"use-forwarded-headers"}, "", "0.0.0.0/0", true, false, true},
		{{"use-forwarded-headers"}, "10.0.0.0/8,::/0", "10.0.0.0/8", true, false, true},
		{{"use-forwarded-headers"}, "banana", ""},
		{{"use-forwarded-headers", "compute-full-forwarded-for"}, "10.1.2.3", "10.1.2.3/32",
			true, true},
		{{"enable-real-ip", "compute-full-forwarded-for"}, "10.0.0.0/8", "10.0.0.0/8"},
		{{"use-proxy-protocol"}, "10.0.0.0/8", "10.0.0.0/8"},
	};
	struct fixture *f = *state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct config_entry entries[4] = {
			{.key = STR("proxy-real-ip-cidr"), .value = str_from(rows[i].networks)}};
		size_t count = 1;
		for (size_t k = 0; k < 3 && rows[i].keys[k] != NULL; k++)
			entries[count++] = (struct config_entry){
				.key = str_from(rows[i].keys[k]), .value = STR("true")};
		read_entries(f, entries, count);
		struct forwarding got = nginx_forwarding_of(&f->options);
		struct str first = got.trusted.count != 0 ? got.trusted.items[0] : STR("");
		if (!str_eq_c(first, rows[i].trusted) || got.appends != rows[i].appends ||
			got.believes_scheme != rows[i].believes_scheme ||
			nginx_forwarding_trusts_all(&f->options) != rows[i].trusts_all)
			fail_msg("row %zu: %.*s, %d, %d", i, STR_FMT(first), got.believes_scheme,
				got.appends);
		assert_int_equal(got.believes_host, got.believes_scheme);
		assert_true(got.request_id && got.keeps_claims);
		assert_int_equal(got.https_port, 443);
	}
	assert_true(nginx_forwarding_of(NULL).request_id);
	assert_int_equal(nginx_forwarding_of(NULL).trusted.count, 0);
	read_one(f, "generate-request-id", "false");
	assert_false(nginx_forwarding_of(&f->options).request_id);
	read_one(f, "use-proxy-protocol", "true");
	assert_true(nginx_forwarding_reads_proxy(&f->options));
	assert_true(nginx_forwarding_of(&f->options).believes_port);
	assert_false(nginx_forwarding_of(&f->options).believes_host);
	assert_false(nginx_forwarding_reads_proxy(NULL));
}

/* ---- what an Ingress gets ---- */

static void test_an_annotation_replaces_an_option(void **state)
{
	struct fixture *f = *state;
	struct annotation annotation = {STR(INGRESS_NGINX_PREFIX "/proxy-body-size"), STR("2m")};
	struct ingress_record ingress = {.annotations = {&annotation, 1}};
	const struct object_ref self = {.namespace = STR("default"), .name = STR("web")};
	const struct nginx_teller teller = {&self, &f->arena, &f->diags};
	struct nginx_values values;
	struct config_entry entries[] = {
		{.key = STR("proxy-body-size"), .value = STR("8m")},
		{.key = STR("proxy-read-timeout"), .value = STR("7")},
	};
	read_entries(f, entries, COUNT_OF(entries));
	nginx_values_read(&ingress, STR_NONE, &teller, &values);
	nginx_options_apply(&f->options, &teller, &values);
	assert_true(str_eq_c(values.items[NGINX_ROW_proxy_body_size].text, "2m"));
	assert_null(values.items[NGINX_ROW_proxy_body_size].option);
	assert_true(str_eq_c(values.items[NGINX_ROW_proxy_read_timeout].text, "7"));
	assert_non_null(values.items[NGINX_ROW_proxy_read_timeout].option);
	assert_int_equal(f->diags.count, 0);
}

static void test_without_a_config_map_nothing_is_said(void **state)
{
	struct fixture *f = *state;
	const struct nginx_configmap source = {.key = STR("ns/options"), .diags = &f->diags};
	nginx_configmap_read(&source, &f->arena, &f->options);
	assert_int_equal(f->diags.count, 0);
	assert_true(nginx_option_is_on(&f->options, NGINX_OWN_hsts, true));
	assert_int_equal(nginx_option_number(NULL, NGINX_OWN_http_redirect_code, 308), 308);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_people_are_told_the_same_before_they_move),
		cmocka_unit_test(test_differences_are_named),
		cmocka_unit_test_setup_teardown(test_values, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			test_a_value_that_is_too_long_hurts_only_itself, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_headers_have_a_limit, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_who_is_believed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			test_an_annotation_replaces_an_option, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			test_without_a_config_map_nothing_is_said, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: Apache-2.0
#include "translator/balancer.h"

#include "tests/unit/translator/help.h"

static const struct tls_secret *find(void *ctx, struct str namespace, struct str name)
{
	static const struct tls_secret usable = {.not_after = 1};
	static const struct tls_secret missing = {.problem = ""};
	(void)ctx;
	(void)namespace;
	return str_eq_c(name, "t") ? &usable : &missing;
}

struct row {
	const char *name;
	struct annotation_values values[3]; /* of the oldest, the next, ... */
	const char *secrets[3];
	size_t count;
	const char *want;
	const char *reasons;
	bool no_https;
};

static const struct row rows[] = {
	{"nothing said", {{0}}, {NULL}, 1, "http:80", ""},
	{"a certificate", {{0}}, {"t"}, 1, "http:80 https:443", ""},
	{"a Secret that is gone", {{0}}, {"gone"}, 1, "http:80", ""},
	{"ports", {{.http_port = 81, .https_port = 82}}, {"t"}, 1, "http:81 https:82", ""},
	{"sorted by port", {{.http_port = 8080}}, {"t"}, 1, "https:443 http:8080", ""},
	{"no HTTP", {{.allow_http = SWITCH_OFF}}, {"t"}, 1, "https:443", ""},
	{"nothing at all", {{.allow_http = SWITCH_OFF}}, {NULL}, 1, "", "NoListener"},
	{"one port for both", {{.http_port = 90, .https_port = 90}}, {"t"}, 1, "http:90 https:443",
		"PortConflict"},
	{"HTTP on the port of HTTPS", {{.http_port = 443}}, {"t"}, 1, "http:80 https:443",
		"PortConflict"},
	{"HTTPS on the port of HTTP", {{.https_port = 80}}, {"t"}, 1, "http:80 https:443",
		"PortConflict"},
	{"no conflict without a certificate", {{.http_port = 443}}, {NULL}, 1, "http:443", ""},
	{"a provider without HTTPS", {{0}}, {"t"}, 1, "http:80", "NotSupported", .no_https = true},
	{"the oldest decides", {{0}, {.http_port = 81}, {.http_port = 82}}, {NULL}, 3, "http:81",
		"SettingConflict"},
	{"agreement is no conflict", {{.scale = 2}, {.scale = 2}}, {NULL}, 2, "http:80", ""},
	{"scale", {{.scale = 2}, {.scale = 3}}, {NULL}, 2, "http:80", "SettingConflict"},
	{"switches", {{.allow_http = SWITCH_ON}, {.allow_http = SWITCH_OFF}}, {NULL}, 2, "http:80",
		"SettingConflict"},
};

static void check(const struct row *row, bool backwards)
{
	struct plan plans[3] = {0};
	struct plan_tls tls[3] = {0};
	const struct plan *order[3];
	struct tls_context context = {.find = find};
	struct load_balancer lb;
	struct arena arena;
	struct diag_list diags;
	struct str got = STR("");
	arena_init(&arena);
	diag_list_init(&diags, &arena);
	for (size_t i = 0; i < row->count; i++) {
		plans[i].self =
			(struct object_ref){STR("ns"), arena_printf(&arena, "%zu", i), STR("")};
		plans[i].created = i;
		plans[i].values = row->values[i];
		tls[i].secret = str_from(row->secrets[i]);
		plans[i].tls.items = &tls[i];
		plans[i].tls.count = row->secrets[i] != NULL;
		order[backwards ? row->count - 1 - i : i] = &plans[i];
	}
	struct balancer_request request = {.scope = BALANCER_OF_GROUP,
		.plans = order,
		.count = row->count,
		.tls = &context,
		.https_is_possible = !row->no_https};
	balancer_build(&request, &arena, &lb, &diags);
	for (size_t i = 0; i < lb.listeners.count; i++) {
		const struct listener *l = &lb.listeners.items[i];
		got = arena_printf(&arena, "%.*s%s%s:%llu", STR_FMT(got), i != 0 ? " " : "",
			l->protocol == LISTENER_HTTP ? "http" : "https",
			(unsigned long long)l->port);
	}
	const char *reasons = reasons_of(&diags);
	if (!str_eq_c(got, row->want) || strcmp(reasons, row->reasons) != 0)
		fail_msg("%s: \"%.*s\" %s", row->name, STR_FMT(got), reasons);
	assert_text(lb.owners.items[0].name, "0");
	arena_fini(&arena);
}

static void listeners_and_settings(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		check(&rows[i], false);
		check(&rows[i], true);
	}
}

static void labels_and_checks_count_one_by_one(void **state)
{
	struct label old_labels[] = {{STR("a"), STR("1")}, {STR("c"), STR("1")}};
	struct label new_labels[] = {
		{STR("a"), STR("2")}, {STR("b"), STR("1")}, {STR("c"), STR("1")}};
	struct health_check old_check = {.service = STR("s"), .port = 1};
	struct health_check new_check = {.service = STR("s"), .port = 2};
	struct plan old = {.self = {STR("ns"), STR("old"), STR("")},
		.created = 1,
		.default_pool = STR("ns/s:1"),
		.values = {.labels = {old_labels, 2}, .health_checks = {&old_check, 1}}};
	struct plan new = {.self = {STR("ns"), STR("new"), STR("")},
		.created = 2,
		.default_pool = STR("ns/s:2"),
		.values = {.labels = {new_labels, 3}, .health_checks = {&new_check, 1}}};
	const struct plan *plans[] = {&new, &old};
	struct tls_context context = {.find = find};
	struct balancer_request request = {
		.scope = BALANCER_OF_GROUP, .plans = plans, .count = 2, .tls = &context};
	struct load_balancer lb;
	struct arena arena;
	struct diag_list diags;
	(void)state;
	arena_init(&arena);
	diag_list_init(&diags, &arena);
	balancer_build(&request, &arena, &lb, &diags);
	assert_int_equal(lb.labels.count, 3);
	assert_text(lb.labels.items[0].value, "1");
	assert_text(lb.labels.items[1].key, "b");
	assert_int_equal(lb.health_checks.count, 1);
	assert_int_equal(lb.health_checks.items[0].port, 1);
	assert_text(lb.default_pool, "ns/s:1");
	assert_string_equal(
		reasons_of(&diags), "DefaultBackendConflict SettingConflict SettingConflict");
	arena_fini(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(listeners_and_settings),
		cmocka_unit_test(labels_and_checks_count_one_by_one),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: Apache-2.0
#include "provider-rancher/rules.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

/* Pools by name: "a" and so on are good, others have something about them. */
static const struct pool *find_pool(void *ctx, struct str id)
{
	static struct pool pool;
	(void)ctx;
	pool = (struct pool){
		.service = {STR("default"), id, id}, .target_port = 8080, .has_selector = true};
	if (str_eq_c(id, "dangling"))
		return NULL;
	if (str_eq_c(id, "missing"))
		pool.service.uid = STR_NONE;
	if (str_eq_c(id, "portless"))
		pool.target_port = 0;
	if (str_eq_c(id, "external"))
		pool.external_name = STR("example.com");
	if (str_eq_c(id, "selectorless"))
		pool.has_selector = false;
	if (str_eq_c(id, "odd")) {
		pool.mixed_target_ports = true;
		pool.protocol = POOL_H2C;
		pool.algorithm = ALGORITHM_SOURCE;
	}
	return &pool;
}

/* The id of a Service is its name here. */
static struct str find_service(void *ctx, struct str uid)
{
	(void)ctx;
	return str_eq_c(uid, "unknown") ? STR_NONE : uid;
}

static const struct rules_lookup lookup = {NULL, find_pool, find_service};

struct fixture {
	struct arena arena;
	struct notices notices;
	struct load_balancer lb;
	struct virtual_host hosts[8];
	struct path_rule rules[8][8];
	size_t count;
	struct routes routes;
};

static int set_up(void **ret_fixture)
{
	struct fixture *f = test_calloc(1, sizeof(*f));
	arena_init(&f->arena);
	notices_init(&f->notices, &f->arena);
	*ret_fixture = f;
	return 0;
}

static int tear_down(void **fixture)
{
	struct fixture *f = *fixture;
	arena_fini(&f->arena);
	test_free(f);
	return 0;
}

/* Adds a rule to the host, which is made when it is new. */
static void add(struct fixture *f, const char *host, enum path_type match, const char *path,
	const char *pool)
{
	size_t i = 0;
	while (i < f->count && !str_eq_c(f->hosts[i].host, host))
		i++;
	if (i == f->count) {
		f->hosts[f->count++] = (struct virtual_host){.host = str_from(host),
			.match = host[0] == '\0'  ? HOST_ANY
				 : host[0] == '*' ? HOST_WILDCARD
						  : HOST_EXACT,
			.rules = {f->rules[i], 0}};
	}
	f->rules[i][f->hosts[i].rules.count++] = (struct path_rule){.path = str_from(path),
		.match = match,
		.pool = str_from(pool),
		.ingress = STR("default/web")};
}

/* "host/path>service ..." in order of precedence. */
static const char *collect(struct fixture *f)
{
	static char text[1024];
	size_t len = 0;
	rules_collect(&f->lb, f->hosts, f->count, &lookup, &f->arena, &f->notices, &f->routes);
	text[0] = '\0';
	for (size_t i = 0; i < f->routes.count; i++) {
		const struct route *r = &f->routes.items[i];
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%.*s%.*s>%.*s",
			i != 0 ? " " : "", STR_FMT(r->host), STR_FMT(r->path),
			STR_FMT(r->service_id));
	}
	return text;
}

/* "Reason: subjects; ..." without the explanation. */
static const char *noticed(struct fixture *f)
{
	static char text[1024];
	struct lb_notice *list;
	size_t len = 0;
	size_t count = notices_list(&f->notices, &list);
	text[0] = '\0';
	for (size_t i = 0; i < count; i++) {
		const char *subjects = memrchr(list[i].message.p, ':', list[i].message.len);
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%.*s%s",
			i != 0 ? "; " : "", STR_FMT(list[i].reason),
			subjects != NULL ? subjects : "");
	}
	return text;
}

/* Defect 41: without priorities "/" might win over "/api". */
static void defect_41_the_longest_path_of_the_best_host_comes_first(void **fixture)
{
	struct fixture *f = *fixture;
	f->lb.default_pool = STR("d");
	add(f, "", PATH_IMPLEMENTATION_SPECIFIC, "/", "x");
	add(f, "*.example.com", PATH_IMPLEMENTATION_SPECIFIC, "/", "w");
	add(f, "*.b.example.com", PATH_IMPLEMENTATION_SPECIFIC, "/", "v");
	add(f, "foo.com", PATH_IMPLEMENTATION_SPECIFIC, "/", "a");
	add(f, "foo.com", PATH_IMPLEMENTATION_SPECIFIC, "/api", "b");
	add(f, "foo.com", PATH_IMPLEMENTATION_SPECIFIC, "/api/v1", "c");
	add(f, "bar.com", PATH_IMPLEMENTATION_SPECIFIC, "/", "e");
	assert_string_equal(collect(f), "bar.com/>e foo.com/api/v1>c foo.com/api>b foo.com/>a "
					"*.b.example.com/>v *.example.com/>w />x >d");
	struct lb_spec spec = {.scale = 0};
	rules_add_port(&f->routes, 80, "http", &f->arena, &spec);
	rules_add_port(&f->routes, 443, "https", &f->arena, &spec);
	assert_int_equal(spec.rules.count, 16);
	for (size_t i = 0; i < 16; i++) {
		assert_int_equal(spec.rules.items[i].priority, i % 8 + 1);
		assert_int_equal(spec.rules.items[i].source_port, i < 8 ? 80 : 443);
	}
}

static void what_rancher_matches_more_widely_is_told_once(void **fixture)
{
	struct fixture *f = *fixture;
	add(f, "foo.com", PATH_EXACT, "/exact", "a");
	add(f, "foo.com", PATH_PREFIX, "/prefix/", "a");
	add(f, "foo.com", PATH_PREFIX, "/", "a");
	add(f, "foo.com", PATH_IMPLEMENTATION_SPECIFIC, "/plain", "a");
	add(f, "*.foo.com", PATH_PREFIX, "/", "a");
	assert_string_equal(collect(f),
		"foo.com/prefix>a foo.com/exact>a foo.com/plain>a foo.com/>a *.foo.com/>a");
	assert_string_equal(noticed(f),
		"PathMatchWidened: foo.com/exact, foo.com/prefix/; HostMatchWidened: *.foo.com");
}

static void rules_for_one_place_do_not_become_one_backend(void **fixture)
{
	struct fixture *f = *fixture;
	add(f, "foo.com", PATH_EXACT, "/foo", "a");
	add(f, "foo.com", PATH_PREFIX, "/foo", "b");
	add(f, "foo.com", PATH_PREFIX, "/FOO", "c");
	add(f, "foo.com", PATH_EXACT, "/bar", "a");
	add(f, "foo.com", PATH_PREFIX, "/bar", "a");
	add(f, "bar.com", PATH_PREFIX, "/foo", "b");
	assert_string_equal(collect(f), "bar.com/foo>b foo.com/foo>a foo.com/bar>a");
	assert_non_null(strstr(noticed(f), "RuleShadowed: foo.com/foo, foo.com/FOO"));
}

/* Defects 13 and 21 (the provider's side): what cannot be had is left out and told, the rest is served. */
static void what_cannot_be_had_is_left_out_and_told(void **fixture)
{
	struct fixture *f = *fixture;
	static const char *const pools[] = {
		"dangling", "missing", "unknown", "portless", "external"};
	char path[16];
	for (size_t i = 0; i < 5; i++) {
		snprintf(path, sizeof(path), "/%zu", i);
		add(f, "foo.com", PATH_IMPLEMENTATION_SPECIFIC,
			arena_str(&f->arena, str_from(path)).p, pools[i]);
	}
	add(f, "foo.com", PATH_IMPLEMENTATION_SPECIFIC, "/s", "selectorless");
	add(f, "foo.com", PATH_IMPLEMENTATION_SPECIFIC, "/o", "odd");
	assert_string_equal(collect(f), "foo.com/s>selectorless foo.com/o>odd");
	assert_string_equal(noticed(f),
		"ServiceNotInRancher: default/unknown; ServiceWithoutSelector: "
		"default/selectorless; "
		"ExternalNameNotSupported: default/external; TargetPortUnknown: default/portless; "
		"TargetPortsDiffer: default/odd; BackendProtocolNotSupported: default/odd; "
		"AlgorithmNotSupported: default/odd");
	assert_int_equal(f->routes.unknown_count, 1);
	assert_true(str_eq_c(f->routes.unknown_uids[0], "unknown"));
}

static void backends_are_named_only_where_rancher_would_mix_them_up(void **fixture)
{
	struct fixture *f = *fixture;
	struct lb_spec spec = {.scale = 0};
	add(f, "a-b.com", PATH_IMPLEMENTATION_SPECIFIC, "/x", "a");
	add(f, "a.b.com", PATH_IMPLEMENTATION_SPECIFIC, "/x", "b");
	add(f, "c.com", PATH_IMPLEMENTATION_SPECIFIC, "/", "c");
	collect(f);
	rules_add_port(&f->routes, 80, "http", &f->arena, &spec);
	rules_add_port(&f->routes, 81, "http", &f->arena, &spec);
	rules_name_backends(&spec, &f->arena);
	assert_int_equal(spec.rules.items[0].backend.len, 0);
	assert_true(str_starts_with(spec.rules.items[1].backend, STR("80_a_b_com_x_")));
	assert_int_equal(spec.rules.items[2].backend.len, 0);
	assert_true(str_starts_with(spec.rules.items[4].backend, STR("81_a_b_com_x_")));
	static const struct {
		const char *host;
		const char *path;
		const char *want;
	} rows[] = {{"foo.bar.com", "/foo", "80_foo_bar_com_foo"}, {"", "", "80_"},
		{"*.foo.com", "/", "80_foo_com_"}, {"foo.com", "", "80_foo_com_"},
		{"", "/a--b", "80_a_b"}};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_true(str_eq_c(rules_default_backend(80, str_from(rows[i].host),
					     str_from(rows[i].path), &f->arena),
			rows[i].want));
}

/* As none of its words are claimed, none of these is ever sent. */
static void rules_with_more_than_a_pool_are_ignored(void **fixture)
{
	struct fixture *f = *fixture;
	struct condition condition = {.subject = CONDITION_METHOD, .value = STR("GET")};
	struct weighted_pool pool = {STR("x"), 1};
	struct redirect redirect = {.status = 302};
	struct fixed_answer answer = {.status = 200};
	struct path_rule rules[] = {
		{.path = STR("/if"), .pool = STR("x"), .conditions = {&condition, 1}},
		{.path = STR("/weights"), .pools = {&pool, 1}},
		{.path = STR("/redirect"), .redirect = &redirect},
		{.path = STR("/answer"), .answer = &answer},
		{.path = STR("/policy"), .pool = STR("x"), .policy = STR("y")},
		{.regex = STR("^/x"), .pool = STR("x")},
		{.path = STR("/plain"), .pool = STR("x")},
	};
	f->hosts[f->count++] =
		(struct virtual_host){.host = STR("a"), .match = HOST_EXACT, .rules = {rules, 7}};
	assert_string_equal(collect(f), "a/plain>x");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(defect_41_the_longest_path_of_the_best_host_comes_first),
		TEST(what_rancher_matches_more_widely_is_told_once),
		TEST(rules_for_one_place_do_not_become_one_backend),
		TEST(what_cannot_be_had_is_left_out_and_told),
		TEST(rules_with_more_than_a_pool_are_ignored),
		TEST(backends_are_named_only_where_rancher_would_mix_them_up),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

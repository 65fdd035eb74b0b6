// SPDX-License-Identifier: Apache-2.0
#include "provider-nginx/rule_text.h"

#include "provider-nginx/network_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static struct str written(struct row_draft *draft)
{
	assert_int_equal(draft->count, 1);
	return draft->items[0].value;
}

static void assert_text(struct str text, const char *want)
{
	assert_int_equal(text.len, strlen(want));
	assert_memory_equal(text.p, want, text.len);
}

static void a_route_is_a_tree(void **fixture)
{
	struct arena arena;
	arena_init(&arena);
	struct row_draft draft = {.arena = &arena};
	struct name policy = name_of(NAME_POLICY, STR("y"));
	struct condition condition = {.subject = CONDITION_HEADER,
		.name = STR("x-a"),
		.match = CONDITION_REGEX,
		.value = STR("^(a|b), c")};
	struct weighted_pool pools[] = {{STR("a"), 3}, {STR("b"), 0}};
	struct piece pieces[] = {{.text = STR("https://")}, {.value = REQUEST_HOST},
		{.value = REQUEST_GROUP, .group = 1}, {.value = REQUEST_HEADER, .text = STR("x")}};
	struct redirect redirect = {302, {pieces, 4}};
	struct path_rule first = {
		.match = PATH_PREFIX, .pools = {pools, 2}, .conditions = {&condition, 1}};
	struct path_rule second = {.regex = STR("^/x"), .redirect = &redirect};
	struct path_rule third = {.match = PATH_EXACT};
	struct route_rule rules[] = {{.rule = &first, .path = STR("/a b"), .has_to_match = true},
		{.rule = &second, .path = STR(""), .has_to_match = true},
		{.rule = &third,
			.path = STR("/"),
			.has_to_match = true,
			.is_exact = true,
			.is_closed = true,
			.policy = policy}};
	struct route route = {.name = {"r1"}, .rules = rules, .count = 3};
	struct name a = name_of(NAME_POOL, STR("a"));
	struct name b = name_of(NAME_POOL, STR("b"));
	(void)fixture;
	assert_null(rule_text_writer.write_route(NULL, &route, &draft));
	assert_text(draft.items[0].key, "route:r1");
	struct str want = arena_printf(&arena,
		"(((path,/a%%20b),(rest,4),(if,header,x-a,regex,%%5E%%28a%%7Cb%%29%%2C%%20c),"
		"(pools,%s,3,%s,0)),((regex,%%5E/x),(redirect,302),"
		"(location,(text,https://),(host),(group,1),(header,x))),"
		"((path,/),(exact),(policy,%s),(closed)))",
		a.text, b.text, policy.text);
	assert_true(str_eq(written(&draft), want));
	arena_fini(&arena);
}

static void sessions_are_those_of_the_rule(void **fixture)
{
	struct arena arena;
	arena_init(&arena);
	struct row_draft draft = {.arena = &arena};
	struct rule_canary canary = {STR("main"), STR("new"), true};
	struct path_rule first = {.cookie_path = STR("/a b"), .canary = &canary};
	struct path_rule second = {.cookie_path = STR("/a;b")};
	struct route_rule rules[] = {{.rule = &first}, {.rule = &second}};
	struct route route = {.name = {"r1"}, .rules = rules, .count = 2};
	struct name main = name_of(NAME_POOL, STR("main"));
	struct name new = name_of(NAME_POOL, STR("new"));
	(void)fixture;
	assert_null(rule_text_writer.write_route(NULL, &route, &draft));
	assert_true(str_eq(written(&draft),
		arena_printf(&arena, "(((cookie_path,/a%%20b),(canary,%s,%s,loose)),())", main.text,
			new.text)));
	arena_fini(&arena);
}

static void networks_are_sorted_ranges(void **fixture)
{
	struct buf buf;
	struct tree_text tree = {.out = &buf};
	struct str networks[] = {STR("10.0.1.0/24"), STR("2001:db8::/32"), STR("10.0.0.0/8"),
		STR("10.0.0.0/16"), STR("192.0.2.7"), STR("0.0.0.0/32"), STR("10.0.0.0/8")};
	(void)fixture;
	buf_init(&buf, 1024);
	network_text_add(&tree, "deny", networks, 7);
	assert_text(buf_str(&buf),
		"(deny,(v4,00000000,00000000,0a000000,0affffff,c0000207,c0000207),"
		"(v6,20010db8000000000000000000000000,20010db8ffffffffffffffffffffffff))");
	buf_clear(&buf);
	tree = (struct tree_text){.out = &buf};
	network_text_add(&tree, "deny", networks, 0);
	assert_text(buf_str(&buf), "");
	buf_fini(&buf);
}

static void a_policy_is_a_tree(void **fixture)
{
	struct arena arena;
	arena_init(&arena);
	struct row_draft draft = {.arena = &arena};
	struct str problem = STR_NONE;
	struct name name = {"y1"};
	struct str origins[] = {STR("https://*.a.test")};
	struct cors cors = {
		.origins = {origins, 1}, .credentials = true, .methods = STR("GET, PUT")};
	struct rate_limit limit = {5, 60, 0};
	struct rate_limits limits = {.requests = {&limit, 1}, .concurrent = 3};
	struct basic_auth auth = {.realm = STR(""), .users = STR("u")};
	struct name users = name_of(NAME_USERS, STR("u"));
	struct piece piece = {.value = REQUEST_CLIENT};
	struct header_change changes[] = {
		{.name = STR("X-A"), .action = HEADER_SET, .value = {&piece, 1}},
		{.name = STR("X-B"), .action = HEADER_REMOVE}};
	struct policy policy = {.body_max_bytes = 9,
		.cors = &cors,
		.rate_limits = &limits,
		.basic_auth = &auth,
		.satisfy_any = true,
		.request_headers = {changes, 2}};
	(void)fixture;
	assert_true(rule_text_writer.write_policy(NULL, &name, &policy, &draft, &problem));
	struct str want = arena_printf(&arena,
		"((body_max_bytes,9),(cors,(origins,https://*.a.test),(credentials),"
		"(methods,GET%%2C%%20PUT)),(rate_limits,(limit,5,60,0),(concurrent,3),(status,429))"
		","
		"(basic_auth,(realm,),(users,%s)),(satisfy_any),"
		"(request_headers,(set,X-A,((client))),(remove,X-B,())))",
		users.text);
	assert_true(str_eq(written(&draft), want));
	assert_null(problem.p);
	arena_fini(&arena);
}

static void others_than_the_backend_are_in_it(void **fixture)
{
	struct arena arena;
	arena_init(&arena);
	struct row_draft draft = {.arena = &arena};
	struct str problem = STR_NONE;
	struct name name = {"y1"};
	struct name pool = name_of(NAME_POOL, STR("p"));
	struct piece piece = {.value = REQUEST_TARGET_ESCAPED};
	struct piece status = {.value = REQUEST_STATUS};
	struct header_change code = {.name = STR("X-C"), .value = {&status, 1}};
	struct str copied = STR("X-User");
	struct cache_time kept = {200, 60};
	struct external_auth auth = {.pool = STR("p"),
		.target = {&piece, 1},
		.copied = {&copied, 1},
		.cookies_always = true,
		.cache_key = {&piece, 1},
		.cache_times = {&kept, 1}};
	struct mirror mirror = {.pool = STR("p"), .without_body = true, .share = 3};
	struct status_code codes[] = {{404}, {503}};
	struct error_pages pages = {.statuses = {codes, 2},
		.pool = STR("p"),
		.own_only = true,
		.request_headers = {&code, 1}};
	struct policy policy = {.external_auth = &auth,
		.mirrors = {&mirror, 1},
		.error_pages = &pages,
		.fallback_pool = STR("p"),
		.fallback_headers = {&code, 1}};
	(void)fixture;
	assert_true(rule_text_writer.write_policy(NULL, &name, &policy, &draft, &problem));
	struct str want = arena_printf(&arena,
		"((external_auth,(pool,%s),(target,(target_escaped)),(copied,X-User),"
		"(cookies_always),(cache_key,(target_escaped)),(cache_times,200,60)),"
		"(mirrors,((pool,%s),(without_body),(share,3,100))),"
		"(error_pages,(pool,%s),(statuses,404,503),(own_only),"
		"(request_headers,(set,X-C,((status))))),"
		"(fallback_pool,%s),(fallback_headers,(set,X-C,((status)))))",
		pool.text, pool.text, pool.text, pool.text);
	assert_true(str_eq(written(&draft), want));
	arena_fini(&arena);
}

static void certificates_of_clients_are_a_tree(void **fixture)
{
	struct arena arena;
	arena_init(&arena);
	struct row_draft draft = {.arena = &arena};
	struct piece piece = {.value = REQUEST_PATH};
	struct client_tls client = {.ca = STR("-----A\n"),
		.verify = CLIENT_VERIFY_OPTIONAL,
		.subject = STR("CN=a"),
		.error_location = {&piece, 1},
		.passed = true};
	(void)fixture;
	assert_null(rule_text_writer.write_client(NULL, STR("l:a.test"), &client, &draft));
	assert_text(written(&draft), "((ca,-----A%0A),(verify,optional),(depth,1),(subject,CN=a),"
				     "(error_location,(path)),(passed))");
	arena_fini(&arena);
}

static void what_is_too_long_is_told(void **fixture)
{
	enum { COUNT = 64, LEN = 2048 };
	static char text[LEN];
	struct arena arena;
	arena_init(&arena);
	struct row_draft draft = {.arena = &arena};
	struct str problem = STR_NONE;
	struct name name = {"y1"};
	struct piece pieces[COUNT];
	struct header_change changes[4];
	struct policy policy = {.response_headers = {changes, 4}};
	(void)fixture;
	memset(text, 'a', sizeof(text));
	for (size_t i = 0; i < COUNT; i++)
		pieces[i] = (struct piece){.text = {text, LEN}};
	for (size_t i = 0; i < 4; i++)
		changes[i] = (struct header_change){.name = STR("X"), .value = {pieces, COUNT}};
	assert_false(rule_text_writer.write_policy(NULL, &name, &policy, &draft, &problem));
	assert_int_equal(draft.count, 0);
	assert_non_null(problem.p);
	arena_fini(&arena);
}

static void users_are_a_tree(void **fixture)
{
	struct buf buf;
	struct auth_user list[] = {{STR("a,b"), STR("$6$x")}, {STR("c"), STR("{SHA}=")}};
	struct users users = {.users = {list, 2}};
	(void)fixture;
	buf_init(&buf, 1024);
	assert_true(rule_text_users(&users, &buf));
	assert_text(buf_str(&buf), "(a%2Cb,%246%24x,c,%7BSHA%7D=)");
	buf_fini(&buf);
	buf_init(&buf, 4);
	assert_false(rule_text_users(&users, &buf));
	buf_fini(&buf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_route_is_a_tree),
		cmocka_unit_test(sessions_are_those_of_the_rule),
		cmocka_unit_test(networks_are_sorted_ranges),
		cmocka_unit_test(a_policy_is_a_tree),
		cmocka_unit_test(others_than_the_backend_are_in_it),
		cmocka_unit_test(certificates_of_clients_are_a_tree),
		cmocka_unit_test(what_is_too_long_is_told),
		cmocka_unit_test(users_are_a_tree),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

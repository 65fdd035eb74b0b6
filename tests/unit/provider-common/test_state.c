// SPDX-License-Identifier: Apache-2.0
#include "provider-common/state.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "stage.h"

struct fixture {
	struct stage stage;
};

static bool drop_endpoints(enum lb_kind kind, void *value)
{
	struct pool *pool = value;
	if (kind != LB_POOL || pool->endpoints.count == 0)
		return false;
	pool->endpoints.count = 0;
	return true;
}

static int set_up(void **ret_fixture)
{
	static const struct state_config config = {.reduce = drop_endpoints, .want_touched = true};
	struct fixture *f = calloc(1, sizeof(*f));
	stage_init(&f->stage, &config);
	*ret_fixture = f;
	return 0;
}

static int tear_down(void **fixture)
{
	struct fixture *f = *fixture;
	stage_fini(&f->stage);
	free(f);
	return 0;
}

static void append(char *text, size_t size, const char *word, struct str id)
{
	size_t len = strlen(text);
	snprintf(text + len, size - len, "%s%s%.*s", len != 0 ? " " : "", word, STR_FMT(id));
}

/* Commits and says what the commit told: "+added ~changed -removed | touched". */
static const char *commit(struct fixture *f)
{
	static char text[512];
	static const char *const marks[] = {"+", "~", "-"};
	struct state_commit told;
	text[0] = '\0';
	state_commit(f->stage.state, &told);
	for (size_t i = 0; i < told.change_count; i++)
		append(text, sizeof(text), marks[told.changes[i].type],
			object_id(told.changes[i].object));
	append(text, sizeof(text), "|", STR_NONE);
	for (size_t i = 0; i < told.touched_count; i++)
		append(text, sizeof(text), "", object_id(told.touched[i]));
	if (told.is_snapshot)
		append(text, sizeof(text), "(snapshot)", STR_NONE);
	state_commit_done(f->stage.state);
	return text;
}

/* lb1 with hosts h1 (pools p1, p2) and h2 (p2), default pool p3, certificate c1; lb2 with h3 (p2).
 */
static void stage_world(struct fixture *f)
{
	struct path_rule one_two[] = {
		{.path = STR("/"), .pool = STR("p1")}, {.path = STR("/two"), .pool = STR("p2")}};
	struct listener https = {.port = 443,
		.protocol = LISTENER_HTTPS,
		.default_certificate = STR("c1"),
		.certificates = {.items = (struct str[]){STR("c1")}, .count = 1}};
	struct load_balancer lb1 = make_load_balancer("lb1", "one");
	struct load_balancer lb2 = make_load_balancer("lb2", "two");
	lb1.default_pool = STR("p3");
	lb1.listeners.items = &https;
	lb1.listeners.count = 1;
	struct virtual_host h1 = make_host("h1", "lb1", one_two, 2);
	struct virtual_host h2 = make_host("h2", "lb1", one_two + 1, 1);
	struct virtual_host h3 = make_host("h3", "lb2", one_two + 1, 1);
	struct pool p1 = make_pool("p1", 1);
	struct pool p2 = make_pool("p2", 2);
	struct pool p3 = make_pool("p3", 3);
	struct certificate c1 = make_certificate("c1", "key");
	const void *const all[] = {&h1, &h2, &h3, &p1, &p2, &p3, &c1, &lb1, &lb2};
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		stage_upsert(&f->stage, all[i]);
}

static void begin_with_world(struct fixture *f)
{
	state_begin_snapshot(f->stage.state);
	stage_world(f);
	commit(f);
}

static void shows_nothing_before_the_commit(void **fixture)
{
	struct fixture *f = *fixture;
	state_begin_snapshot(f->stage.state);
	stage_world(f);
	assert_null(state_find(f->stage.state, LB_LOAD_BALANCER, STR("lb1")));
	assert_false(state_is_complete(f->stage.state));
	assert_string_equal(
		commit(f), "+lb1 +lb2 +h1 +h2 +h3 +p1 +p2 +p3 +c1 | lb1 lb2 (snapshot)");
	assert_true(state_is_complete(f->stage.state));
	struct object *lb1 = state_find(f->stage.state, LB_LOAD_BALANCER, STR("lb1"));
	assert_non_null(lb1);
	struct load_balancer value;
	state_decode(f->stage.state, lb1, &f->stage.arena, &value);
	assert_true(str_eq_c(value.name, "one"));
	assert_true(value.key.rev == object_rev(lb1) && value.key.rev != 0);
	assert_int_equal(state_count(f->stage.state, LB_POOL), 3);
}

static void lists_what_belongs_together(void **fixture)
{
	struct fixture *f = *fixture;
	struct object **list;
	begin_with_world(f);
	struct object *lb1 = state_find(f->stage.state, LB_LOAD_BALANCER, STR("lb1"));
	assert_int_equal(state_hosts_of(lb1, &f->stage.arena, &list), 2);
	assert_true(str_eq_c(object_id(list[0]), "h1"));
	assert_true(str_eq_c(object_id(list[1]), "h2"));
	struct object *p2 = state_find(f->stage.state, LB_POOL, STR("p2"));
	assert_int_equal(state_users_of(p2, &f->stage.arena, &list), 2);
	struct object *p3 = state_find(f->stage.state, LB_POOL, STR("p3"));
	assert_int_equal(state_users_of(p3, &f->stage.arena, &list), 1);
	assert_ptr_equal(list[0], lb1);
	struct object *c1 = state_find(f->stage.state, LB_CERTIFICATE, STR("c1"));
	assert_int_equal(state_users_of(c1, &f->stage.arena, &list), 1);
	assert_ptr_equal(list[0], lb1);
}

static void touches_only_what_depends_on_a_change(void **fixture)
{
	struct fixture *f = *fixture;
	begin_with_world(f);
	struct pool p1 = make_pool("p1", 11);
	stage_upsert(&f->stage, &p1);
	assert_string_equal(commit(f), "~p1 | lb1");
	struct pool p2 = make_pool("p2", 12);
	stage_upsert(&f->stage, &p2);
	assert_string_equal(commit(f), "~p2 | lb2 lb1");
	struct certificate c1 = make_certificate("c1", "other key");
	stage_upsert(&f->stage, &c1);
	assert_string_equal(commit(f), "~c1 | lb1");
	/* A host that moves touches both. */
	struct path_rule rule = {.path = STR("/"), .pool = STR("p1")};
	struct virtual_host h3 = make_host("h3", "lb1", &rule, 1);
	stage_upsert(&f->stage, &h3);
	assert_string_equal(commit(f), "~h3 | lb2 lb1");
	stage_remove(&f->stage, LB_VIRTUAL_HOST, "h3");
	assert_string_equal(commit(f), "-h3 | lb1");
}

static void an_equal_revision_is_no_change(void **fixture)
{
	struct fixture *f = *fixture;
	begin_with_world(f);
	stage_world(f);
	assert_string_equal(commit(f), "|");
	/* There and back within one batch: likewise. */
	struct pool p1 = make_pool("p1", 99);
	stage_upsert(&f->stage, &p1);
	p1 = make_pool("p1", 1);
	stage_upsert(&f->stage, &p1);
	assert_string_equal(commit(f), "|");
	stage_remove(&f->stage, LB_POOL, "p1");
	stage_upsert(&f->stage, &p1);
	assert_string_equal(commit(f), "|");
}

static void a_snapshot_removes_what_it_does_not_repeat(void **fixture)
{
	struct fixture *f = *fixture;
	begin_with_world(f);
	state_begin_snapshot(f->stage.state);
	struct load_balancer lb2 = make_load_balancer("lb2", "two");
	stage_upsert(&f->stage, &lb2);
	struct load_balancer lb3 = make_load_balancer("lb3", "three");
	stage_upsert(&f->stage, &lb3);
	assert_string_equal(
		commit(f), "+lb3 -lb1 -h1 -h2 -h3 -p1 -p2 -p3 -c1 | lb3 lb2 (snapshot)");
	/* And only the first commit after sync-begin does. */
	stage_upsert(&f->stage, &lb3);
	assert_string_equal(commit(f), "|");
	assert_int_equal(state_count(f->stage.state, LB_LOAD_BALANCER), 2);
}

static void a_lost_connection_drops_only_what_is_staged(void **fixture)
{
	struct fixture *f = *fixture;
	begin_with_world(f);
	stage_remove(&f->stage, LB_LOAD_BALANCER, "lb1");
	state_drop_staged(f->stage.state);
	state_begin_snapshot(f->stage.state);
	struct load_balancer lb3 = make_load_balancer("lb3", "three");
	stage_upsert(&f->stage, &lb3);
	state_drop_staged(f->stage.state);
	assert_non_null(state_find(f->stage.state, LB_LOAD_BALANCER, STR("lb1")));
	assert_null(state_find(f->stage.state, LB_LOAD_BALANCER, STR("lb3")));
	/* What an abandoned snapshot repeated does not count for the next one. */
	state_begin_snapshot(f->stage.state);
	stage_world(f);
	state_drop_staged(f->stage.state);
	state_begin_snapshot(f->stage.state);
	assert_string_equal(commit(f), "-lb1 -lb2 -h1 -h2 -h3 -p1 -p2 -p3 -c1 | (snapshot)");
}

static void what_was_removed_can_be_read_until_the_end(void **fixture)
{
	struct fixture *f = *fixture;
	struct state_commit told;
	struct load_balancer value;
	begin_with_world(f);
	stage_remove(&f->stage, LB_LOAD_BALANCER, "lb2");
	state_commit(f->stage.state, &told);
	assert_int_equal(told.change_count, 1);
	assert_false(object_is_present(told.changes[0].object));
	state_decode(f->stage.state, told.changes[0].object, &f->stage.arena, &value);
	assert_true(str_eq_c(value.name, "two"));
	assert_null(state_find(f->stage.state, LB_LOAD_BALANCER, STR("lb2")));
	state_commit_done(f->stage.state);
	/* h3 still refers to it: it may come back. */
	struct load_balancer lb2 = make_load_balancer("lb2", "again");
	stage_upsert(&f->stage, &lb2);
	assert_string_equal(commit(f), "+lb2 | lb2");
	struct object **hosts;
	struct object *object = state_find(f->stage.state, LB_LOAD_BALANCER, STR("lb2"));
	assert_int_equal(state_hosts_of(object, &f->stage.arena, &hosts), 1);
}

static void what_is_reduced_is_not_kept_and_its_change_is_none(void **fixture)
{
	struct fixture *f = *fixture;
	struct pool_endpoint endpoints[] = {{.ip = STR("10.0.0.1"), .port = 80, .active = true},
		{.ip = STR("10.0.0.2"), .port = 80, .active = true}};
	begin_with_world(f);
	struct pool p1 = make_pool("p1", 1);
	uint64_t before = object_rev(state_find(f->stage.state, LB_POOL, STR("p1")));
	p1.endpoints.items = endpoints;
	for (p1.endpoints.count = 1; p1.endpoints.count <= 2; p1.endpoints.count++) {
		stage_upsert(&f->stage, &p1);
		assert_string_equal(commit(f), "|");
	}
	assert_true(object_rev(state_find(f->stage.state, LB_POOL, STR("p1"))) != before);
	struct pool value;
	state_decode(f->stage.state, state_find(f->stage.state, LB_POOL, STR("p1")),
		&f->stage.arena, &value);
	assert_int_equal(value.endpoints.count, 0);
	assert_int_equal(value.target_port, 1);
	p1.target_port = 2;
	p1.endpoints.count = 2;
	stage_upsert(&f->stage, &p1);
	assert_string_equal(commit(f), "~p1 | lb1");
}

static void refuses_what_breaks_the_protocol(void **fixture)
{
	struct fixture *f = *fixture;
	struct schema_error error = {""};
	struct message message;
	/* ["upsert", {"kind": "pool"}]: no id, no revision */
	static const char bytes[] = "\x92\xa6upsert\x81\xa4kind\xa4pool";
	assert_int_equal(message_open(f->stage.reader, (struct str){bytes, sizeof(bytes) - 1},
				 &message, &error),
		0);
	state_begin_snapshot(f->stage.state);
	assert_int_equal(
		state_stage_upsert(f->stage.state, &message, &f->stage.arena, &error), -EBADMSG);
	assert_string_not_equal(error.text, "");
}

static void keeps_what_the_provider_attaches(void **fixture)
{
	struct fixture *f = *fixture;
	int mine = 0;
	struct state_commit told;
	begin_with_world(f);
	struct object *lb1 = state_find(f->stage.state, LB_LOAD_BALANCER, STR("lb1"));
	object_set_user(lb1, &mine);
	struct load_balancer other = make_load_balancer("lb1", "renamed");
	stage_upsert(&f->stage, &other);
	commit(f);
	assert_ptr_equal(state_find(f->stage.state, LB_LOAD_BALANCER, STR("lb1")), lb1);
	assert_ptr_equal(object_user(lb1), &mine);
	stage_remove(&f->stage, LB_LOAD_BALANCER, "lb1");
	state_commit(f->stage.state, &told);
	object_set_user(told.changes[0].object, NULL);
	state_commit_done(f->stage.state);
}

enum { CROWD_HOSTS = 40, CROWD_LBS = 5, CROWD_POOLS = 7, CROWD_RULES = 6 };

/* What is known to be there: of each host its load balancer and the pools of its rules, of which some repeat. */
struct crowd {
	uint32_t seed;
	int lb_of[CROWD_HOSTS]; /* -1: there is no such host */
	int pools_of[CROWD_HOSTS][CROWD_RULES];
	int rule_count[CROWD_HOSTS];
};

static int draw(struct crowd *crowd, int below)
{
	crowd->seed = crowd->seed * 1664525 + 1013904223;
	return (int)((crowd->seed >> 8) % (uint32_t)below);
}

static const char *id_text(char prefix, int number)
{
	static char texts[CROWD_RULES + 2][16];
	static size_t next;
	char *text = texts[next++ % (sizeof(texts) / sizeof(texts[0]))];
	snprintf(text, sizeof(texts[0]), "%c%05d", prefix, number);
	return text;
}

static void change_one_of(struct crowd *crowd, struct fixture *f)
{
	struct path_rule rules[CROWD_RULES];
	int host = draw(crowd, CROWD_HOSTS);
	if (draw(crowd, 4) == 0) {
		crowd->lb_of[host] = -1;
		stage_remove(&f->stage, LB_VIRTUAL_HOST, id_text('h', host));
		return;
	}
	crowd->lb_of[host] = draw(crowd, CROWD_LBS);
	crowd->rule_count[host] = draw(crowd, CROWD_RULES + 1);
	for (int i = 0; i < crowd->rule_count[host]; i++) {
		int pool = draw(crowd, CROWD_POOLS);
		crowd->pools_of[host][i] = pool;
		rules[i] =
			(struct path_rule){.path = STR("/"), .pool = str_from(id_text('p', pool))};
	}
	struct virtual_host value = make_host(id_text('h', host), id_text('l', crowd->lb_of[host]),
		rules, (size_t)crowd->rule_count[host]);
	stage_upsert(&f->stage, &value);
}

static size_t expected_users(const struct crowd *crowd, int pool)
{
	bool uses[CROWD_LBS] = {false};
	size_t count = 0;
	for (int host = 0; host < CROWD_HOSTS; host++) {
		for (int i = 0; crowd->lb_of[host] >= 0 && i < crowd->rule_count[host]; i++) {
			bool *use = &uses[crowd->lb_of[host]];
			if (crowd->pools_of[host][i] != pool || *use)
				continue;
			*use = true;
			count++;
		}
	}
	return count;
}

static void expect_crowd(const struct crowd *crowd, struct fixture *f)
{
	struct object **list;
	for (int lb = 0; lb < CROWD_LBS; lb++) {
		struct object *object =
			state_find(f->stage.state, LB_LOAD_BALANCER, str_from(id_text('l', lb)));
		size_t count = state_hosts_of(object, &f->stage.arena, &list);
		size_t at = 0;
		for (int host = 0; host < CROWD_HOSTS; host++) {
			if (crowd->lb_of[host] != lb)
				continue;
			assert_true(at < count);
			assert_true(str_eq_c(object_id(list[at++]), id_text('h', host)));
		}
		assert_int_equal(at, count);
	}
	for (int pool = 0; pool < CROWD_POOLS; pool++) {
		struct object *object =
			state_find(f->stage.state, LB_POOL, str_from(id_text('p', pool)));
		assert_int_equal(state_users_of(object, &f->stage.arena, &list),
			expected_users(crowd, pool));
	}
	arena_reset(&f->stage.arena);
}

static void references_stay_right_through_many_changes(void **fixture)
{
	struct fixture *f = *fixture;
	struct crowd crowd = {.seed = 7};
	struct state_commit told;
	for (int i = 0; i < CROWD_HOSTS; i++)
		crowd.lb_of[i] = -1;
	for (int i = 0; i < CROWD_LBS; i++) {
		struct load_balancer lb = make_load_balancer(id_text('l', i), "one");
		stage_upsert(&f->stage, &lb);
	}
	for (int i = 0; i < CROWD_POOLS; i++) {
		struct pool pool = make_pool(id_text('p', i), 1);
		stage_upsert(&f->stage, &pool);
	}
	for (int round = 0; round < 500; round++) {
		for (int i = draw(&crowd, 10); i >= 0; i--)
			change_one_of(&crowd, f);
		state_commit(f->stage.state, &told);
		state_commit_done(f->stage.state);
		expect_crowd(&crowd, f);
	}
}

/* One pool for all, and one host of very many rules: neither may be searched for what goes. */
static void an_object_may_be_used_by_very_many(void **fixture)
{
	enum { MANY = 20000 };
	struct fixture *f = *fixture;
	struct object **list;
	struct state_commit told;
	struct path_rule one = {.path = STR("/"), .pool = STR("p")};
	struct path_rule *rules = calloc(MANY, sizeof(*rules));
	struct load_balancer lb = make_load_balancer("lb", "one");
	struct pool pool = make_pool("p", 1);
	stage_upsert(&f->stage, &lb);
	stage_upsert(&f->stage, &pool);
	for (int i = 0; i < MANY; i++) {
		struct virtual_host host = make_host(id_text('h', i), "lb", &one, 1);
		rules[i] = one;
		stage_upsert(&f->stage, &host);
	}
	struct virtual_host wide = make_host("wide", "lb", rules, MANY);
	stage_upsert(&f->stage, &wide);
	state_commit(f->stage.state, &told);
	state_commit_done(f->stage.state);
	struct object *object = state_find(f->stage.state, LB_POOL, STR("p"));
	struct object *lb_object = state_find(f->stage.state, LB_LOAD_BALANCER, STR("lb"));
	assert_int_equal(state_hosts_of(lb_object, &f->stage.arena, &list), MANY + 1);
	for (int i = 0; i < MANY; i += 2)
		stage_remove(&f->stage, LB_VIRTUAL_HOST, id_text('h', i));
	stage_remove(&f->stage, LB_VIRTUAL_HOST, "wide");
	state_commit(f->stage.state, &told);
	assert_int_equal(told.change_count, MANY / 2 + 1);
	state_commit_done(f->stage.state);
	assert_int_equal(state_hosts_of(lb_object, &f->stage.arena, &list), MANY / 2);
	assert_int_equal(state_users_of(object, &f->stage.arena, &list), 1);
	for (int i = 1; i < MANY; i += 2)
		stage_remove(&f->stage, LB_VIRTUAL_HOST, id_text('h', i));
	state_commit(f->stage.state, &told);
	state_commit_done(f->stage.state);
	assert_int_equal(state_hosts_of(lb_object, &f->stage.arena, &list), 0);
	assert_int_equal(state_users_of(object, &f->stage.arena, &list), 0);
	free(rules);
}

/* A rule of pools with a policy, whose users come and go. */
static void follows_policies_and_users(void **fixture)
{
	struct fixture *f = *fixture;
	struct weighted_pool pools[] = {{STR("p1"), 1}, {STR("p2"), 2}};
	struct path_rule rules[] = {
		{.path = STR("/a"), .pools = {pools, 2}, .policy = STR("y")},
		{.path = STR("/b"), .pool = STR("p2"), .policy = STR("y")},
	};
	struct load_balancer lb = make_load_balancer("lb", "one");
	struct virtual_host host = make_host("h", "lb", rules, 2);
	struct basic_auth auth = {.users = STR("u")};
	struct policy policy = {
		.key = {.kind = LB_POLICY, .id = STR("y")}, .basic_auth = &auth, .https_port = 1};
	struct auth_user user = {STR("alice"), STR("{SHA}x")};
	struct users users = {.key = {.kind = LB_USERS, .id = STR("u")}, .users = {&user, 1}};
	struct pool p1 = make_pool("p1", 1);
	stage_upsert(&f->stage, &lb);
	stage_upsert(&f->stage, &host);
	assert_string_equal(commit(f), "+lb +h | lb");
	stage_upsert(&f->stage, &users);
	assert_string_equal(commit(f), "+u |");
	stage_upsert(&f->stage, &policy);
	assert_string_equal(commit(f), "+y | lb");
	user.hash = STR("{SHA}y");
	stage_upsert(&f->stage, &users);
	assert_string_equal(commit(f), "~u | lb");
	stage_upsert(&f->stage, &p1);
	assert_string_equal(commit(f), "+p1 | lb");
	rules[0].policy = rules[1].policy = STR("other");
	stage_upsert(&f->stage, &host);
	assert_string_equal(commit(f), "~h | lb");
	stage_remove(&f->stage, LB_POLICY, "y");
	stage_remove(&f->stage, LB_USERS, "u");
	assert_string_equal(commit(f), "-y -u |");
}

static void a_rule_leads_to_one_thing(void **fixture)
{
	struct fixture *f = *fixture;
	struct weighted_pool pools[] = {{STR("p1"), 1}};
	struct piece piece = {.text = STR("/x")};
	struct redirect redirect = {302, {&piece, 1}};
	struct fixed_answer answer = {200, STR("")};
	const struct {
		struct path_rule rule;
		const char *want; /* NULL: it is taken */
	} cases[] = {
		{{.pool = STR("p")}, NULL},
		{{.pools = {pools, 1}}, NULL},
		{{.redirect = &redirect}, NULL},
		{{.answer = &answer}, NULL},
		{{.path = STR("/")}, "rules[1]: none of pool, pools, redirect and answer"},
		{{.pool = STR("p"), .answer = &answer},
			"rules[1]: more than one of pool, pools, redirect and answer"},
		{{.pools = {pools, 1}, .redirect = &redirect},
			"rules[1]: more than one of pool, pools, redirect and answer"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct path_rule rules[] = {{.pool = STR("p")}, cases[i].rule};
		struct virtual_host host = make_host("h", "lb", rules, 2);
		struct schema_error error = {""};
		struct message message;
		struct str payload = encode_upsert(&f->stage.buf, &host);
		assert_int_equal(message_open(f->stage.reader, payload, &message, &error), 0);
		int err = state_stage_upsert(f->stage.state, &message, &f->stage.arena, &error);
		assert_int_equal(err, cases[i].want != NULL ? -EBADMSG : 0);
		assert_string_equal(error.text, cases[i].want != NULL ? cases[i].want : "");
	}
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(shows_nothing_before_the_commit),
		TEST(lists_what_belongs_together),
		TEST(touches_only_what_depends_on_a_change),
		TEST(an_equal_revision_is_no_change),
		TEST(a_snapshot_removes_what_it_does_not_repeat),
		TEST(a_lost_connection_drops_only_what_is_staged),
		TEST(what_was_removed_can_be_read_until_the_end),
		TEST(what_is_reduced_is_not_kept_and_its_change_is_none),
		TEST(refuses_what_breaks_the_protocol),
		TEST(keeps_what_the_provider_attaches),
		TEST(references_stay_right_through_many_changes),
		TEST(an_object_may_be_used_by_very_many),
		TEST(follows_policies_and_users),
		TEST(a_rule_leads_to_one_thing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

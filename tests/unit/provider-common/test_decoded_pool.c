// SPDX-License-Identifier: Apache-2.0
#include "provider-common/decoded_pool.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "stage.h"

struct fixture {
	struct stage stage;
	struct buf first;
	struct buf second;
};

static int set_up(void **ret_fixture)
{
	struct fixture *f = calloc(1, sizeof(*f));
	stage_init(&f->stage, &(struct state_config){0});
	buf_init(&f->first, FRAME_LEN_MAX);
	buf_init(&f->second, FRAME_LEN_MAX);
	*ret_fixture = f;
	return 0;
}

static int tear_down(void **fixture)
{
	struct fixture *f = *fixture;
	stage_fini(&f->stage);
	buf_fini(&f->first);
	buf_fini(&f->second);
	free(f);
	return 0;
}

/* Something of every kind that a message can have. */
static struct pool make_full(const char *id, uint64_t port)
{
	static struct pool_endpoint endpoints[] = {
		{.ip = {"10.0.0.1", 8}, .port = 80, .active = true, .zone = {"a", 1}},
		{.ip = {"10.0.0.2", 8}, .port = 81, .node = {"node", 4}},
	};
	static struct piece pieces[] = {{.value = REQUEST_HEADER, .text = {"x-user", 6}}};
	static struct str ciphers[] = {{"AES128-SHA", 10}, {"AES256-SHA", 10}};
	static struct pool_tls tls = {
		.ca = {"authority", 9}, .ciphers = {.items = ciphers, .count = 2}};
	struct pool pool = make_pool(id, port);
	pool.endpoints.items = endpoints;
	pool.endpoints.count = 2;
	pool.hash.items = pieces;
	pool.hash.count = 1;
	pool.tls = &tls;
	return pool;
}

/* The message may be overwritten as soon as it was staged. */
static void stage_it(struct fixture *f, struct pool pool)
{
	stage_upsert(&f->stage, &pool);
	memset(f->stage.buf.data, 'x', f->stage.buf.cap);
}

static struct object *find(struct fixture *f, const char *id)
{
	struct object *object = state_find(f->stage.state, LB_POOL, str_from(id));
	assert_non_null(object);
	return object;
}

/* What on_commit() gets is what is kept. */
static void check(struct fixture *f, const char *id, uint64_t port)
{
	struct pool decoded;
	struct pool kept;
	state_take_decoded(f->stage.state, find(f, id), &f->stage.arena, &decoded);
	state_decode(f->stage.state, find(f, id), &f->stage.arena, &kept);
	assert_int_equal(decoded.target_port, port);
	assert_true(str_eq(encode_upsert(&f->first, &decoded), encode_upsert(&f->second, &kept)));
	arena_reset(&f->stage.arena);
}

static void commit(struct fixture *f)
{
	struct state_commit commit;
	state_commit(f->stage.state, &commit);
}

static void a_pool_that_came_alone_is_as_it_is_kept(void **fixture)
{
	struct fixture *f = *fixture;
	stage_it(f, make_full("one", 1));
	commit(f);
	check(f, "one", 1);
	/* Again: now it is decoded. */
	check(f, "one", 1);
	state_commit_done(f->stage.state);
	check(f, "one", 1);
}

static void a_value_may_be_changed_by_who_has_it(void **fixture)
{
	struct fixture *f = *fixture;
	struct pool value;
	stage_it(f, make_full("one", 1));
	commit(f);
	state_take_decoded(f->stage.state, find(f, "one"), &f->stage.arena, &value);
	value.endpoints.items[0].port = 7;
	value.endpoints.count = 1;
	check(f, "one", 1);
	state_commit_done(f->stage.state);
}

static void who_did_not_come_alone_is_decoded(void **fixture)
{
	struct fixture *f = *fixture;
	stage_it(f, make_full("one", 1));
	stage_it(f, make_full("two", 2));
	commit(f);
	check(f, "one", 1);
	check(f, "two", 2);
	state_commit_done(f->stage.state);
}

static void the_newest_of_a_pool_counts(void **fixture)
{
	struct fixture *f = *fixture;
	stage_it(f, make_full("one", 1));
	stage_it(f, make_pool("one", 2));
	commit(f);
	check(f, "one", 2);
	state_commit_done(f->stage.state);
	/* One that is taken back before its commit is no change. */
	stage_it(f, make_full("one", 3));
	stage_it(f, make_pool("one", 2));
	commit(f);
	check(f, "one", 2);
	state_commit_done(f->stage.state);
}

static void what_was_dropped_is_not_taken_for_what_comes_next(void **fixture)
{
	struct fixture *f = *fixture;
	stage_it(f, make_full("one", 1));
	commit(f);
	state_commit_done(f->stage.state);
	stage_it(f, make_full("one", 2));
	stage_remove(&f->stage, LB_POOL, "one");
	stage_it(f, make_full("two", 3));
	commit(f);
	check(f, "two", 3);
	state_commit_done(f->stage.state);
	stage_it(f, make_full("two", 4));
	state_drop_staged(f->stage.state);
	stage_it(f, make_full("three", 5));
	commit(f);
	check(f, "two", 3);
	check(f, "three", 5);
	state_commit_done(f->stage.state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_pool_that_came_alone_is_as_it_is_kept, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_value_may_be_changed_by_who_has_it, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			who_did_not_come_alone_is_decoded, set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_newest_of_a_pool_counts, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			what_was_dropped_is_not_taken_for_what_comes_next, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

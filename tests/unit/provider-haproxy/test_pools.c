// SPDX-License-Identifier: Apache-2.0
/* pools.c with an engine of which only that exists what it needs; every row is taken for sent at once. */
#include "../provider-common/objects.h"
#include "common/xalloc.h"
#include "provider-haproxy/disk.h"
#include "provider-haproxy/connection.h"
#include "provider-haproxy/pools.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

struct fixture {
	struct engine engine;
	struct config config;
	struct state *state;
	struct rows *rows;
	struct notices *notices;
	struct message_reader *reader;
	struct buf buf;
	bool is_cut_off;
	bool has_former_maps; /* rows stay dirty */
};

static struct fixture *fixture;

/* ---- what pools.c calls ---- */

struct state *local_state(struct local *local)
{
	(void)local;
	return fixture->state;
}

struct rows *local_rows(struct local *local)
{
	(void)local;
	return fixture->rows;
}

struct externals *local_externals(struct local *local)
{
	(void)local;
	return NULL;
}

struct notices *local_notices(struct local *local)
{
	(void)local;
	return fixture->notices;
}

void disk_want_late_flush(struct disk *disk)
{
	(void)disk;
}

bool connection_has_maps(const struct connection *connection)
{
	(void)connection;
	return !fixture->has_former_maps;
}

void disk_want_flush(struct disk *disk)
{
	(void)disk;
}

static void send_rows(void)
{
	struct row *row;
	for (int table = 0; table < ROW_TABLE_COUNT && !fixture->is_cut_off; table++) {
		while ((row = rows_first_dirty(fixture->rows, (enum row_table)table)) != NULL)
			rows_has(fixture->rows, row, row_wanted(row));
	}
}

void engine_wake(struct engine *engine)
{
	send_rows();
	pools_finish_leaving(engine);
	arena_reset(&engine->arena);
}

/* ---- */

static int set_up(void **state)
{
	static const struct state_config config = {0};
	struct fixture *f = xcalloc(1, sizeof(*f));
	(void)state;
	fixture = f;
	f->config.cookie_key = (char *)(uintptr_t) "key";
	f->config.slots = 1;
	f->engine.config = &f->config;
	f->engine.loop = ev_loop_new(EVFLAG_AUTO);
	f->state = state_new(&config);
	f->rows = rows_new();
	f->notices = notices_new(NULL, NULL);
	f->reader = message_reader_new();
	buf_init(&f->buf, FRAME_LEN_MAX);
	arena_init(&f->engine.arena);
	slots_init(&f->engine.slots);
	f->engine.main_file = main_file_new();
	f->engine.pools = pools_new(&f->engine);
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = fixture;
	(void)state;
	pools_free(f->engine.pools);
	slots_fini(&f->engine.slots);
	main_file_free(f->engine.main_file);
	arena_fini(&f->engine.arena);
	ev_loop_destroy(f->engine.loop);
	state_free(f->state);
	rows_free(f->rows);
	notices_free(f->notices);
	message_reader_free(f->reader);
	buf_fini(&f->buf);
	free(f);
	return 0;
}

static void commit(struct engine *engine)
{
	struct state_commit commit;
	state_commit(fixture->state, &commit);
	for (size_t i = 0; i < commit.change_count; i++)
		pools_on_change(
			engine, commit.changes[i].object, commit.changes[i].type == STATE_REMOVED);
	state_commit_done(fixture->state);
	ev_now_update(engine->loop);
	engine_wake(engine);
}

/* The pool has one endpoint. */
static void put(struct engine *engine, const char *id, struct stickiness *sticky)
{
	struct pool_endpoint endpoint = {.ip = STR("10.0.0.1"), .port = 80, .active = true};
	struct pool pool = make_pool(id, 0);
	struct schema_error error = {""};
	struct message message;
	pool.endpoints.items = &endpoint;
	pool.endpoints.count = 1;
	pool.stickiness = sticky;
	struct str payload = encode_upsert(&fixture->buf, &pool);
	assert_int_equal(message_open(fixture->reader, payload, &message, &error), 0);
	assert_int_equal(state_stage_upsert(fixture->state, &message, &engine->arena, &error), 0);
	commit(engine);
}

static void drop(struct engine *engine, const char *id)
{
	struct lb_remove gone = {LB_POOL, str_from(id)};
	struct schema_error error = {""};
	assert_int_equal(state_stage_remove(fixture->state, &gone, &error), 0);
	commit(engine);
}

static struct slot *slot_of_row(struct engine *engine, const char *id)
{
	struct name name = name_of(NAME_POOL, str_from(id));
	struct str value = rows_wanted(fixture->rows, ROW_POOL, name_str(&name));
	return value.p != NULL ? slots_by_name(&engine->slots, value) : NULL;
}

/* A server that is wanted no more, and that HAProxy does not have, is dropped. */
static bool is_empty(struct slot *slot)
{
	return slot_first_server(slot) == NULL;
}

static void let_timers_end(struct engine *engine)
{
	while (pools_leaving_count(engine->pools) != 0)
		ev_run(engine->loop, EVRUN_ONCE);
}

static void a_left_slot_is_emptied_later(void **state)
{
	struct engine *engine = &fixture->engine;
	struct stickiness sticky = {.cookie = STR("A")};
	(void)state;
	put(engine, "p", NULL);
	struct slot *old = slot_of_row(engine, "p");
	put(engine, "p", &sticky);
	struct slot *new = slot_of_row(engine, "p");
	assert_ptr_not_equal(new, old);
	assert_false(is_empty(old));
	let_timers_end(engine);
	assert_true(is_empty(old));
	assert_false(is_empty(new));
}

/* HAProxy was started by a former release, in whose table the pool still has that slot. */
static void a_slot_in_tables_that_are_not_ours_is_not_emptied(void **state)
{
	struct engine *engine = &fixture->engine;
	struct stickiness sticky = {.cookie = STR("A")};
	(void)state;
	put(engine, "p", NULL);
	struct slot *old = slot_of_row(engine, "p");
	fixture->has_former_maps = true;
	put(engine, "p", &sticky);
	/* However often it looks. */
	assert_false(ev_run(engine->loop, EVRUN_NOWAIT));
	pools_finish_leaving(engine);
	assert_int_equal(pools_leaving_count(engine->pools), 1);
	assert_false(is_empty(old));
	fixture->has_former_maps = false;
	engine_wake(engine);
	let_timers_end(engine);
	assert_true(is_empty(old));
}

static void the_row_of_a_pool_goes_after_its_routes(void **state)
{
	struct engine *engine = &fixture->engine;
	(void)state;
	put(engine, "p", NULL);
	struct slot *slot = slot_of_row(engine, "p");
	fixture->is_cut_off = true;
	rows_want(fixture->rows, ROW_WHOLE, STR("route"), STR("elsewhere"));
	drop(engine, "p");
	/* However long the route is on its way. */
	assert_false(ev_run(engine->loop, EVRUN_NOWAIT));
	assert_ptr_equal(slot_of_row(engine, "p"), slot);
	fixture->is_cut_off = false;
	engine_wake(engine);
	assert_ptr_equal(slot_of_row(engine, "p"), slot);
	while (slot_of_row(engine, "p") != NULL)
		ev_run(engine->loop, EVRUN_ONCE);
	assert_false(is_empty(slot));
	let_timers_end(engine);
	assert_true(is_empty(slot));
}

static void a_pool_that_comes_back_keeps_its_slot(void **state)
{
	struct engine *engine = &fixture->engine;
	(void)state;
	put(engine, "p", NULL);
	struct slot *slot = slot_of_row(engine, "p");
	drop(engine, "p");
	put(engine, "p", NULL);
	assert_ptr_equal(slot_of_row(engine, "p"), slot);
	assert_int_equal(pools_leaving_count(engine->pools), 0);
	assert_false(is_empty(slot));
}

/* It goes and comes back as another sort of pool, so that its slot is left for two reasons. */
static void a_slot_that_is_left_twice_is_not_taken_from_the_next(void **state)
{
	struct engine *engine = &fixture->engine;
	struct stickiness sticky = {.cookie = STR("A")};
	(void)state;
	put(engine, "p", NULL);
	struct slot *slot = slot_of_row(engine, "p");
	drop(engine, "p");
	put(engine, "p", &sticky);
	assert_int_equal(pools_leaving_count(engine->pools), 1);
	let_timers_end(engine);
	assert_true(is_empty(slot));
	assert_false(is_empty(slot_of_row(engine, "p")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_left_slot_is_emptied_later, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_slot_in_tables_that_are_not_ours_is_not_emptied, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			the_row_of_a_pool_goes_after_its_routes, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_pool_that_comes_back_keeps_its_slot, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_slot_that_is_left_twice_is_not_taken_from_the_next, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

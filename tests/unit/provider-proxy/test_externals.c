// SPDX-License-Identifier: Apache-2.0
#include "common/xalloc.h"
#include "provider-proxy/externals.h"
#include "common/files.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

static char file[] = "/tmp/sluice-test-externals-XXXXXX";
static struct notices *notices;
static struct egress *egress;
static struct own_listeners *own;

static void on_change(void *ctx, struct str pool_id)
{
	(void)ctx;
	(void)pool_id;
	fail();
}

static struct externals *make(const char *server, const char *refused, char **ret_problem)
{
	char *servers[] = {(char *)(uintptr_t)server};
	char *networks[] = {(char *)(uintptr_t)refused, (char *)(uintptr_t) "fd00::/63"};
	struct option_list server_list = {servers, 1};
	struct egress_options options = {.refused = {networks, 2}};
	egress_free(egress);
	egress = egress_new(&options, ret_problem);
	assert_non_null(egress);
	struct externals_config config = {
		.loop = ev_default_loop(0),
		.servers = &server_list,
		.egress = egress,
		.file = file,
		.notices = notices,
		.own = own,
		.on_change = on_change,
	};
	return externals_new(&config, ret_problem);
}

static int set_up(void **state)
{
	(void)state;
	notices = notices_new(NULL, NULL);
	own = own_listeners_new(NULL, notices);
	int fd = mkstemp(file);
	return fd >= 0 && close(fd) == 0 ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	own_listeners_free(own);
	notices_free(notices);
	egress_free(egress);
	return unlink(file);
}

static void options_are_checked(void **state)
{
	char *problem = NULL;
	(void)state;
	assert_null(make("name.test", "10.0.0.0/8", &problem));
	assert_non_null(problem);
	free(problem);
}

/* Nobody is asked here: the loop does not run. */
static void what_was_known_is_known_after_a_start(void **state)
{
	char *problem = NULL;
	struct arena arena;
	struct pool pool = {.key.id = STR("p"),
		.external_name = STR("b.test"),
		.target_port = 8443,
		.service = {.namespace = STR("default"), .name = STR("web")}};
	(void)state;
	arena_init(&arena);
	assert_int_equal(files_write_loose(file,
				 STR("a.test 192.0.2.9\nb.test 127.0.0.1 11.0.0.1 12.0.0.1 "
				     "fd00:0:0:1::1 fd00:0:0:2::1\nb.test.more 192.0.2.8\n"),
				 0600),
		0);
	struct externals *all = make("127.0.0.1:1", "10.0.0.0/7", &problem);
	assert_non_null(all);
	externals_settle(all, &pool, &arena);
	/* The networks that are refused may be others by now; those that are built in stay. */
	assert_int_equal(pool.endpoints.count, 2);
	assert_true(str_eq_c(pool.endpoints.items[0].ip, "12.0.0.1"));
	assert_true(str_eq_c(pool.endpoints.items[1].ip, "fd00:0:0:2::1"));
	assert_true(pool.endpoints.items[0].active && pool.endpoints.items[0].port == 8443);
	struct lb_notice *told;
	assert_int_equal(notices_list(notices, STR(""), &arena, &told), 1);
	assert_true(str_eq_c(told[0].reason, "EndpointRefused"));
	assert_true(str_eq_c(told[0].message,
		"address 11.0.0.1 of host b.test, to which Service web leads, is refused: it is in "
		"--refuse-egress 10.0.0.0/7; the others are used"));
	pool.external_name = STR("c.test");
	externals_settle(all, &pool, &arena);
	assert_int_equal(pool.endpoints.count, 0);
	pool.external_name = STR("a b");
	externals_settle(all, &pool, &arena);
	assert_int_equal(pool.endpoints.count, 0);
	externals_drop(all, STR("p"));
	externals_drop(all, STR("p"));
	externals_free(all);
	arena_fini(&arena);
}

/* Endpoints of their own stay as they are. */
static void other_pools_are_left_alone(void **state)
{
	char *problem = NULL;
	struct arena arena;
	struct pool_endpoint endpoint = {.ip = STR("10.0.0.1"), .port = 80};
	struct pool pool = {.key.id = STR("p"), .endpoints = {&endpoint, 1}};
	(void)state;
	arena_init(&arena);
	struct externals *all = make("127.0.0.1:1", "10.0.0.0/8", &problem);
	externals_settle(all, &pool, &arena);
	assert_int_equal(pool.endpoints.count, 1);
	externals_free(all);
	arena_fini(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(options_are_checked),
		cmocka_unit_test(what_was_known_is_known_after_a_start),
		cmocka_unit_test(other_pools_are_left_alone),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}

// SPDX-License-Identifier: Apache-2.0
/* Endpoints by Service, and certificates, as a scraper gets them. */
#include "provider-proxy/stock.h"

#include "provider-proxy/names.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../provider-common/stage.h"

enum { MANY = 1200 /* more than are read at once */ };

struct fixture {
	struct stage stage;
	struct traffic_now *now;
	char text[4096];
};

static int set_up(void **state)
{
	static const struct state_config config = {0};
	struct fixture *f = calloc(1, sizeof(*f));
	stage_init(&f->stage, &config);
	state_begin_snapshot(f->stage.state);
	f->now = traffic_now_new(10);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	traffic_now_free(f->now);
	stage_fini(&f->stage);
	free(f);
	return 0;
}

static void commit(struct fixture *f)
{
	struct state_commit made;
	state_commit(f->stage.state, &made);
	state_commit_done(f->stage.state);
}

/* With so many endpoints that get requests, and one that drains. */
static void add_pool(struct fixture *f, const char *id, const char *service, size_t active)
{
	static char addresses[8][16];
	struct pool_endpoint endpoints[8] = {0};
	for (size_t i = 0; i <= active; i++) {
		snprintf(addresses[i], sizeof(addresses[i]), "192.0.2.%zu", i + 1);
		endpoints[i] = (struct pool_endpoint){
			.ip = str_from(addresses[i]), .port = 80, .active = i != active};
	}
	const struct pool pool = {
		.key = {.kind = LB_POOL, .id = str_from(id), .rev = 1},
		.service = {.namespace = STR("shop"), .name = str_from(service)},
		.port = 8080,
		.endpoints = {.items = endpoints, .count = active + 1},
	};
	stage_upsert(&f->stage, &pool);
}

static void add_certificate(struct fixture *f, const char *id, const char *name, uint64_t ends_s)
{
	const struct certificate certificate = {
		.key = {.kind = LB_CERTIFICATE, .id = str_from(id), .rev = 1},
		.namespace = STR("shop"),
		.name = str_from(name),
		.chain = STR("chain"),
		.private_key = STR("key"),
		.not_after = ends_s,
	};
	stage_upsert(&f->stage, &certificate);
}

/* `NAME:PORT READY DRAINING OUT ENDS;` of each. */
static const char *shown(struct fixture *f, enum lb_kind kind, size_t max)
{
	const struct stock_row *row = NULL;
	struct stock *stock = stock_new(f->stage.state, max);
	size_t len = 0;
	f->text[0] = '\0';
	while (stock_read(stock, f->now)) {
	}
	while ((row = stock_next(stock, kind, row)) != NULL)
		len += (size_t)snprintf(f->text + len, sizeof(f->text) - len,
			"%.*s/%.*s:%.*s %d %d %d %d;", STR_FMT(row->namespace), STR_FMT(row->name),
			STR_FMT(row->port), (int)row->endpoints[STOCK_READY],
			(int)row->endpoints[STOCK_DRAINING], (int)row->endpoints[STOCK_OUT],
			(int)row->ends_s);
	stock_free(stock);
	return f->text;
}

static void endpoints(void **state)
{
	struct fixture *f = *state;
	add_pool(f, "shop/front:80", "front", 3);
	add_pool(f, "shop/back:80", "back", 0);
	commit(f);
	struct name pool = name_of(NAME_POOL, STR("shop/front:80"));
	traffic_now_add_out(f->now, name_str(&pool), STR("192.0.2.2"), 80);
	/* The one that drains does not count as out of use. */
	traffic_now_add_out(f->now, STR("-"), STR("192.0.2.4"), 80);
	assert_string_equal(
		shown(f, LB_POOL, 10), "shop/back:8080 0 1 0 0;shop/front:8080 2 1 1 0;");
}

/* The pool that is worse off is told. */
static void two_pools_of_a_service(void **state)
{
	struct fixture *f = *state;
	add_pool(f, "shop/front:80", "front", 2);
	add_pool(f, "shop/front:80:sticky", "front", 2);
	add_pool(f, "shop/front:80:tls", "front", 2);
	commit(f);
	struct name pool = name_of(NAME_POOL, STR("shop/front:80:sticky"));
	traffic_now_add_out(f->now, name_str(&pool), STR("192.0.2.1"), 80);
	assert_string_equal(shown(f, LB_POOL, 10), "shop/front:8080 1 1 1 0;");
}

static void certificates(void **state)
{
	struct fixture *f = *state;
	add_certificate(f, "shop/a", "a", 3000);
	add_certificate(f, "shop/b", "b", 2000);
	add_certificate(f, "shop/unknown", "\"x\"} 1\n", 1);
	commit(f);
	assert_string_equal(shown(f, LB_CERTIFICATE, 10), "shop/a: 0 0 0 3000;shop/b: 0 0 0 2000;");
}

/* Beyond the limit one row has them all. */
static void bounded(void **state)
{
	struct fixture *f = *state;
	for (size_t i = 0; i < MANY; i++) {
		char name[32];
		snprintf(name, sizeof(name), "n%04zu", i);
		add_pool(f, name, name, 2);
		add_certificate(f, name, name, 9000 - i);
	}
	commit(f);
	assert_string_equal(shown(f, LB_POOL, 2),
		"shop/n0000:8080 2 1 0 0;shop/n0001:8080 2 1 0 0;/(others): 2396 1198 0 0;");
	assert_string_equal(shown(f, LB_CERTIFICATE, 2),
		"shop/n0000: 0 0 0 9000;shop/n0001: 0 0 0 8999;/(others): 0 0 0 7801;");
}

/* What has gone meanwhile is not told, nor does reading begin anew. */
static void changes_while_it_is_read(void **state)
{
	struct fixture *f = *state;
	for (size_t i = 0; i < MANY; i++) {
		char name[32];
		snprintf(name, sizeof(name), "n%04zu", i);
		add_pool(f, name, "one", 1);
	}
	commit(f);
	struct stock *stock = stock_new(f->stage.state, 10);
	assert_true(stock_read(stock, f->now));
	state_begin_snapshot(f->stage.state);
	add_pool(f, "n9999", "two", 1);
	commit(f);
	while (stock_read(stock, f->now)) {
	}
	const struct stock_row *row = stock_next(stock, LB_POOL, NULL);
	assert_true(str_eq(row->name, STR("one")));
	row = stock_next(stock, LB_POOL, row);
	assert_true(str_eq(row->name, STR("two")));
	assert_null(stock_next(stock, LB_POOL, row));
	stock_free(stock);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(endpoints, set_up, tear_down),
		cmocka_unit_test_setup_teardown(two_pools_of_a_service, set_up, tear_down),
		cmocka_unit_test_setup_teardown(certificates, set_up, tear_down),
		cmocka_unit_test_setup_teardown(bounded, set_up, tear_down),
		cmocka_unit_test_setup_teardown(changes_while_it_is_read, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

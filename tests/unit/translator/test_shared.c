// SPDX-License-Identifier: Apache-2.0
#include "translator/shared.h"

#include "tests/unit/translator/help.h"

static struct class_listener usual[] = {
	{STR(""), 80, LISTENER_HTTP}, {STR(""), 443, LISTENER_HTTPS}};
static struct str everywhere[] = {STR("")};

static void https_stands_when_there_is_something_to_show(void **state)
{
	static const struct {
		bool shows;
		bool passes;
		const char *fallback;
		bool possible;
		int protocol; /* of port 443; -1: not open */
	} rows[] = {
		{false, false, "", true, -1},
		{true, false, "", true, LISTENER_HTTPS},
		{true, false, "", false, -1},
		{false, true, "", true, LISTENER_TLS_PASSTHROUGH},
		{true, true, "", true, LISTENER_HTTPS},
		{true, true, "", false, LISTENER_TLS_PASSTHROUGH},
		{false, false, "admin/t", true, LISTENER_HTTPS},
	};
	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct shared_request request = {.class_name = STR("edge"),
			.listeners = usual,
			.listener_count = 2,
			.addresses = {everywhere, 1},
			.shows_certificate = rows[i].shows,
			.passes_through = rows[i].passes,
			.default_certificate = str_from(rows[i].fallback),
			.https_is_possible = rows[i].possible};
		struct load_balancer lb;
		struct arena arena;
		arena_init(&arena);
		shared_build(&request, &arena, &lb, NULL);
		assert_text(lb.class_name, "edge");
		assert_int_equal(lb.owners.count, 0);
		assert_int_equal(lb.listeners.count, rows[i].protocol < 0 ? 1 : 2);
		assert_int_equal(lb.listeners.items[0].port, 80);
		if (rows[i].protocol >= 0)
			assert_int_equal(lb.listeners.items[1].protocol, rows[i].protocol);
		if (lb.listeners.count == 2)
			assert_text(lb.listeners.items[1].default_certificate, rows[i].fallback);
		arena_fini(&arena);
	}
}

static void ports_are_sorted_and_extra_https_needs_a_certificate(void **state)
{
	struct str ranges[] = {STR("10.0.0.0/8")};
	struct plan_port wish = {22, LISTENER_TCP, STR("ns/ssh:tcp:22")};
	struct plan ssh = {.self = {.namespace = STR("ns"), .name = STR("ssh"), .is_service = true},
		.ports = {&wish, 1},
		.source_ranges = {ranges, 1}};
	const struct shared_port ports[] = {{8443, LISTENER_HTTPS, NULL, 0},
		{8080, LISTENER_HTTP, NULL, 0}, {22, LISTENER_TCP, &ssh, 7}};
	struct shared_request request = {.listeners = usual,
		.listener_count = 2,
		.addresses = {everywhere, 1},
		.ports = ports,
		.port_count = 3};
	struct load_balancer lb;
	struct arena arena;
	(void)state;
	request.https_is_possible = true;
	arena_init(&arena);
	shared_build(&request, &arena, &lb, NULL);
	assert_int_equal(lb.listeners.count, 3);
	assert_int_equal(lb.listeners.items[0].port, 22);
	assert_text(lb.listeners.items[0].pool, "ns/ssh:tcp:22");
	assert_text(lb.listeners.items[0].service, "ns/ssh");
	assert_int_equal(lb.listeners.items[0].created, 7);
	assert_int_equal(lb.listeners.items[0].source_ranges.count, 1);
	assert_int_equal(lb.listeners.items[2].port, 8080);
	request.shows_certificate = true;
	shared_build(&request, &arena, &lb, NULL);
	assert_int_equal(lb.listeners.count, 5);
	assert_int_equal(lb.listeners.items[4].port, 8443);
	arena_fini(&arena);
}

static void a_class_has_every_port_on_each_of_its_addresses(void **state)
{
	struct class_listener own[] = {
		{STR("10.0.0.2"), 80, LISTENER_HTTP}, {STR("10.0.0.1"), 80, LISTENER_HTTP}};
	struct str addresses[] = {STR("10.0.0.2"), STR("10.0.0.1")};
	const struct shared_port ports[] = {{8080, LISTENER_HTTP, NULL, 5}};
	struct shared_request request = {.listeners = own,
		.listener_count = 2,
		.addresses = {addresses, 2},
		.created = 9,
		.ports = ports,
		.port_count = 1};
	struct load_balancer lb;
	struct arena arena;
	(void)state;
	arena_init(&arena);
	shared_build(&request, &arena, &lb, NULL);
	assert_int_equal(lb.listeners.count, 4);
	assert_text(lb.listeners.items[0].address, "10.0.0.1");
	assert_int_equal(lb.listeners.items[0].created, 9);
	assert_text(lb.listeners.items[3].address, "10.0.0.2");
	assert_int_equal(lb.listeners.items[3].port, 8080);
	assert_int_equal(lb.listeners.items[3].created, 5);
	arena_fini(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(https_stands_when_there_is_something_to_show),
		cmocka_unit_test(ports_are_sorted_and_extra_https_needs_a_certificate),
		cmocka_unit_test(a_class_has_every_port_on_each_of_its_addresses),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: Apache-2.0
/* What a ConfigMap with ports for TCP may say. */
#include "translator/tcp_services.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static size_t read_one(
	const char *key, const char *value, struct arena *arena, struct service_record *ret_service)
{
	struct config_entry entry = {.key = str_from(key), .value = str_from(value)};
	const struct config_map_record map = {
		.key = {RECORD_CONFIG_MAP, STR("n"), STR("tcp"), STR("u")}, .entries = {&entry, 1}};
	struct diag_list diags;
	diag_list_init(&diags, arena);
	tcp_services_read(&map, PROTOCOL_TCP, STR("class"), arena, &diags, ret_service);
	assert_int_equal(diags.count, 1 - ret_service->ports.count);
	return ret_service->ports.count;
}

static void entries(void **state)
{
	static const struct {
		const char *key;
		const char *value;
		const char *service; /* NULL: it is refused */
		uint64_t number;
		const char *name;
		const char *proxy; /* NULL: nothing */
	} rows[] = {
		{"9000", "a/b:80", "a/b", 80, ""},
		{"1", "a/b:65535", "a/b", 65535, ""},
		{"9000", " a/b:http ", "a/b", 0, "http"},
		{"9000", "1/2:80", "1/2", 80, ""},
		{"9000", "a/-b:80", NULL, 0, ""},
		{"0", "a/b:80", NULL, 0, ""},
		{"65536", "a/b:80", NULL, 0, ""},
		{"", "a/b:80", NULL, 0, ""},
		{"9000", "", NULL, 0, ""},
		{"9000", ":", NULL, 0, ""},
		{"9000", "a/b", NULL, 0, ""},
		{"9000", "b:80", NULL, 0, ""},
		{"9000", "/b:80", NULL, 0, ""},
		{"9000", "a/:80", NULL, 0, ""},
		{"9000", "a/b/c:80", NULL, 0, ""},
		{"9000", "a/b:0", NULL, 0, ""},
		{"9000", "a/b:65536000", NULL, 0, ""},
		{"9000", "a/b.c:80", NULL, 0, ""},
		{"9000", "A/b:80", NULL, 0, ""},
		{"9000", "a/*:80", NULL, 0, ""},
		{"9000", "a/b:80:PROXY", "a/b", 80, "", TCP_SERVICES_READS},
		{"9000", "a/b:80::PROXY", "a/b", 80, "", TCP_SERVICES_SENDS},
		{"9000", "a/b:80:PROXY:PROXY", "a/b", 80, "", TCP_SERVICES_PASSES},
		{"9000", "a/b:80:PROXY:", "a/b", 80, "", TCP_SERVICES_READS},
		{"9000", "a/b:80:PROXY:PROXY:PROXY", NULL, 0, ""},
		{"9000", "a/b:80:proxy", NULL, 0, ""},
		{"9000", "a/b:80:PROXY:x", NULL, 0, ""},
		{"9000", "a/b:80;", NULL, 0, ""},
		{"9000", "a/b:80\n", "a/b", 80, ""},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct arena arena;
		struct service_record service;
		arena_init(&arena);
		size_t count = read_one(rows[i].key, rows[i].value, &arena, &service);
		if (count != (rows[i].service != NULL))
			fail_msg("%s %s: %zu", rows[i].key, rows[i].value, count);
		if (count != 0) {
			const struct service_port *port = &service.ports.items[0];
			assert_true(str_eq_c(port->name, rows[i].service));
			assert_int_equal(port->target_number, rows[i].number);
			assert_true(str_eq_c(port->target_name, rows[i].name));
			assert_true(str_eq_c(
				port->app_protocol, rows[i].proxy != NULL ? rows[i].proxy : ""));
		}
		assert_true(str_eq_c(service.key.name, "tcp.tcp"));
		arena_fini(&arena);
	}
}

static void no_more_than_can_be_had(void **state)
{
	enum { COUNT = TCP_SERVICES_MAX + 2 };
	struct config_entry items[COUNT];
	char keys[COUNT][8];
	struct arena arena;
	struct service_record service;
	struct diag_list diags;
	arena_init(&arena);
	diag_list_init(&diags, &arena);
	for (size_t i = 0; i < COUNT; i++) {
		(void)snprintf(keys[i], sizeof(keys[i]), "%zu", 9000 + i);
		items[i] = (struct config_entry){.key = str_from(keys[i]), .value = STR("a/b:1")};
	}
	const struct config_map_record map = {
		.key = {RECORD_CONFIG_MAP, STR("n"), STR("tcp"), STR("u")},
		.entries = {items, COUNT}};
	tcp_services_read(&map, PROTOCOL_TCP, STR(""), &arena, &diags, &service);
	assert_int_equal(service.ports.count, TCP_SERVICES_MAX);
	assert_int_equal(diags.count, 2);
	arena_fini(&arena);
}

/* PROXY is for TCP: it is left out, and told. */
static void those_of_udp(void **state)
{
	static const struct {
		const char *value;
		size_t ports;
		size_t diags;
	} rows[] = {
		{"a/b:53", 1, 0},
		{"a/b:dns", 1, 0},
		{"a/b:53:PROXY", 1, 1},
		{"a/b:53:PROXY:PROXY", 1, 1},
		{"a/b:53:proxy", 0, 1},
		{"a/b", 0, 1},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct config_entry entry = {.key = STR("53"), .value = str_from(rows[i].value)};
		const struct config_map_record map = {
			.key = {RECORD_CONFIG_MAP, STR("n"), STR("maps"), STR("u")},
			.entries = {&entry, 1}};
		struct service_record service;
		struct diag_list diags;
		struct arena arena;
		arena_init(&arena);
		diag_list_init(&diags, &arena);
		tcp_services_read(&map, PROTOCOL_UDP, STR("class"), &arena, &diags, &service);
		assert_true(str_eq_c(service.key.name, "maps.udp"));
		assert_int_equal(service.ports.count, rows[i].ports);
		assert_int_equal(diags.count, rows[i].diags);
		if (rows[i].ports != 0) {
			assert_int_equal(service.ports.items[0].protocol, PROTOCOL_UDP);
			assert_true(str_is_empty(service.ports.items[0].app_protocol));
		}
		arena_fini(&arena);
	}
}

static void owners(void **state)
{
	struct str map = STR("");
	assert_true(tcp_services_is_owner(STR("dns.udp"), &map));
	assert_true(str_eq_c(map, "dns"));
	assert_true(tcp_services_is_owner(STR("tcp.tcp"), &map));
	assert_true(str_eq_c(map, "tcp"));
	assert_false(tcp_services_is_owner(STR("tcp"), &map));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(entries),
		cmocka_unit_test(no_more_than_can_be_had),
		cmocka_unit_test(those_of_udp),
		cmocka_unit_test(owners),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

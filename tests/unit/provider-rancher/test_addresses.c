// SPDX-License-Identifier: Apache-2.0
#include "provider-rancher/addresses.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

struct place {
	const char *ip;
	uint64_t port;
};

static const struct endpoint_set *make(const struct place *places, size_t count)
{
	struct endpoint items[16];
	size_t good = 0;
	for (size_t i = 0; i < count; i++)
		good += endpoint_parse(str_from(places[i].ip), places[i].port, &items[good]);
	return endpoint_set_get(items, good);
}

#define MAKE(...)                                 \
	make((const struct place[]){__VA_ARGS__}, \
		sizeof((const struct place[]){__VA_ARGS__}) / sizeof(struct place))

/* "10.0.0.1:80,443 host:80,443" */
static const char *told(const struct endpoint_set *set, const char *fqdn)
{
	static char text[512];
	struct arena arena;
	struct address *list = NULL;
	size_t len = 0;
	arena_init(&arena);
	size_t count = addresses_list(set, str_from(fqdn), &arena, &list);
	text[0] = '\0';
	for (size_t i = 0; i < count; i++) {
		const struct address *a = &list[i];
		len += (size_t)snprintf(text + len, sizeof(text) - len,
			"%s%.*s%.*s:", len != 0 ? " " : "", STR_FMT(a->ip), STR_FMT(a->hostname));
		for (size_t j = 0; j < a->ports.count; j++)
			len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%u",
				j != 0 ? "," : "", (unsigned)a->ports.items[j].port);
	}
	arena_fini(&arena);
	return text;
}

/* Defect 29: the status held the same address once for each port and host. */
static void defect_29_every_address_is_told_once(void **state)
{
	(void)state;
	const struct endpoint_set *set = MAKE({"10.0.0.9", 443}, {"10.0.0.10", 80},
		{"10.0.0.9", 80}, {"10.0.0.9", 443}, {"fe80::1", 80}, {"10.0.0.10", 443});
	assert_int_equal(endpoint_set_count(set), 5);
	assert_string_equal(told(set, NULL), "10.0.0.10:80,443 10.0.0.9:80,443 fe80::1:80");
	assert_string_equal(told(set, "Web.Stack.Example."),
		"10.0.0.10:80,443 10.0.0.9:80,443 fe80::1:80 web.stack.example:80,443");
	assert_string_equal(told(NULL, "web.example"), "");
	endpoint_set_drop(set);
}

static void what_is_no_address_is_left_out(void **state)
{
	static const char *const bad[] = {"", "10.0.0", "10.0.0.256", "web.example", "10.0.0.1 ",
		"1:2:3:4:5:6:7:8:9", "10.0.0.1\nx"};
	static const char *const bad_hosts[] = {
		"", ".", "a..b", "-a.b", "a-.b", "a b", "a_b", "a/b", "10.0.0.1;x"};
	struct endpoint endpoint;
	struct arena arena;
	(void)state;
	arena_init(&arena);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(endpoint_parse(str_from(bad[i]), 80, &endpoint));
	assert_false(endpoint_parse(STR("10.0.0.1"), 0, &endpoint));
	assert_false(endpoint_parse(STR("10.0.0.1"), 65536, &endpoint));
	for (size_t i = 0; i < sizeof(bad_hosts) / sizeof(bad_hosts[0]); i++)
		assert_int_equal(address_hostname(str_from(bad_hosts[i]), &arena).len, 0);
	assert_true(str_eq_c(address_hostname(STR("A-1.b"), &arena), "a-1.b"));
	arena_fini(&arena);
}

static void the_last_addresses_are_held_for_a_time(void **state)
{
	struct shown shown = {.is_known = false};
	bool warn = false;
	(void)state;
	const struct endpoint_set *set = MAKE({"10.0.0.1", 80});
	assert_int_equal(shown_update(&shown, set, 100), SHOWN_CHANGED);
	assert_int_equal(shown_update(&shown, set, 101), SHOWN_SAME);
	assert_int_equal(shown_update(&shown, NULL, 102), SHOWN_HOLD);
	assert_int_equal(shown_update(&shown, NULL, 103), SHOWN_SAME);
	assert_true(shown.is_known && shown.last == set);
	assert_false(shown_expire(&shown, 131, 30, &warn));
	/* Back in time: nobody has noticed. */
	assert_int_equal(shown_update(&shown, set, 131), SHOWN_CHANGED);
	assert_false(shown_expire(&shown, 200, 30, &warn));
	assert_int_equal(shown_update(&shown, NULL, 200), SHOWN_HOLD);
	assert_true(shown_expire(&shown, 230, 30, &warn));
	assert_true(warn && shown.is_known && shown.last == NULL);
	assert_false(shown_expire(&shown, 231, 30, &warn));
	assert_int_equal(shown_update(&shown, NULL, 232), SHOWN_SAME);
	assert_int_equal(shown_update(&shown, set, 240), SHOWN_CHANGED);
	shown_fini(&shown);
	endpoint_set_drop(set);
}

static void after_a_start_nothing_is_said_before_the_hold_is_over(void **state)
{
	struct shown adopted = {.had_any = true};
	struct shown fresh = {.had_any = false};
	bool warn = false;
	(void)state;
	assert_int_equal(shown_update(&adopted, NULL, 10), SHOWN_HOLD);
	assert_false(adopted.is_known);
	assert_true(shown_expire(&adopted, 40, 30, &warn) && warn && adopted.is_known);
	/* A new one is not warned about: it never had any. */
	assert_int_equal(shown_update(&fresh, NULL, 10), SHOWN_HOLD);
	assert_true(shown_expire(&fresh, 40, 30, &warn));
	assert_false(warn);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defect_29_every_address_is_told_once),
		cmocka_unit_test(what_is_no_address_is_left_out),
		cmocka_unit_test(the_last_addresses_are_held_for_a_time),
		cmocka_unit_test(after_a_start_nothing_is_said_before_the_hold_is_over),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

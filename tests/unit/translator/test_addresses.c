// SPDX-License-Identifier: Apache-2.0
#include "translator/addresses.h"

#include "tests/unit/translator/help.h"

static struct str describe(struct arena *arena, const struct lb_status *status)
{
	struct str text = STR("");
	for (size_t i = 0; i < status->addresses.count; i++) {
		const struct address *a = &status->addresses.items[i];
		text = arena_printf(arena, "%.*s%s%s%.*s", STR_FMT(text), i != 0 ? " " : "",
			a->ip.len != 0 ? "ip=" : "name=",
			STR_FMT(a->ip.len != 0 ? a->ip : a->hostname));
		for (size_t k = 0; k < a->ports.count; k++)
			text = arena_printf(arena, "%.*s%c%llu", STR_FMT(text), k == 0 ? ':' : ',',
				(unsigned long long)a->ports.items[k].port);
	}
	return text;
}

static const struct {
	const char *name;
	struct {
		const char *ip;
		const char *hostname;
		uint64_t ports[3];
	} given[4];
	const char *want;
} rows[] = {
	{"nothing", {{0}}, ""},
	{"sorted", {{"10.0.0.2"}, {"10.0.0.1"}}, "ip=10.0.0.1 ip=10.0.0.2"},
	{"each once", {{"10.0.0.1"}, {"10.0.0.1"}}, "ip=10.0.0.1"},
	{"canonical", {{"FD00:0:0::1"}, {"fd00::1"}}, "ip=fd00::1"},
	{"a name", {{NULL, "LB.Example.com."}}, "name=lb.example.com"},
	{"an address as a name", {{NULL, "10.0.0.1"}}, "ip=10.0.0.1"},
	{"a name as an address", {{"lb.example.com"}}, "name=lb.example.com"},
	{"neither", {{"10.0.0"}, {NULL, "a_b"}, {NULL, "*.example.com"}, {NULL, ""}}, ""},
	{"ports are joined", {{"10.0.0.1", NULL, {443, 80}}, {"10.0.0.1", NULL, {80, 8080}}},
		"ip=10.0.0.1:80,443,8080"},
};

static void addresses_as_a_status_may_show_them(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct address items[4] = {0};
		struct address_port ports[4][3] = {0};
		struct lb_status status = {.addresses = {items, 0}};
		struct lb_status out = {0};
		struct arena arena;
		arena_init(&arena);
		for (size_t k = 0; k < 4 && (rows[i].given[k].ip || rows[i].given[k].hostname);
			k++) {
			items[k].ip = str_from(rows[i].given[k].ip);
			items[k].hostname = str_from(rows[i].given[k].hostname);
			items[k].ports.items = ports[k];
			for (size_t p = 0; p < 3 && rows[i].given[k].ports[p] != 0; p++)
				ports[k][items[k].ports.count++].port = rows[i].given[k].ports[p];
			status.addresses.count++;
		}
		addresses_normalise(&status, &arena, &out);
		struct str got = describe(&arena, &out);
		if (!str_eq_c(got, rows[i].want))
			fail_msg("%s: %.*s", rows[i].name, STR_FMT(got));
		arena_fini(&arena);
	}
}

static void lists_are_compared_whole(void **state)
{
	struct address_port port = {80, PROTOCOL_TCP};
	struct address one = {.ip = STR("10.0.0.1"), .ports = {&port, 1}};
	struct address other = {.ip = STR("10.0.0.1")};
	struct lb_status a = {.addresses = {&one, 1}};
	struct lb_status b = {.addresses = {&other, 1}};
	struct lb_status none = {0};
	(void)state;
	assert_true(addresses_equal(&a, &a));
	assert_false(addresses_equal(&a, &b));
	assert_false(addresses_equal(&a, &none));
	assert_true(addresses_equal(&none, &none));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses_as_a_status_may_show_them),
		cmocka_unit_test(lists_are_compared_whole),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

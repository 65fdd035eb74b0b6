// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/dns_troubles.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <cmocka.h>

static void add(struct dns_troubles *troubles, enum records_trouble_kind kind, const char *lb,
	const char *host)
{
	struct records_trouble trouble = {kind, str_from(lb), str_from(lb), str_from(host)};
	dns_troubles_add(troubles, &trouble);
}

static void the_order_of_coming_does_not_count(void **state)
{
	struct dns_troubles *a = dns_troubles_new();
	struct dns_troubles *b = dns_troubles_new();
	assert_true(dns_troubles_eq(a, b));
	add(a, RECORDS_NOT_OURS, "x/web", "a.example.com");
	add(a, RECORDS_FAILED, "x/api", "b.example.com");
	assert_false(dns_troubles_eq(a, b));
	add(b, RECORDS_FAILED, "x/api", "b.example.com");
	add(b, RECORDS_NOT_OURS, "x/web", "a.example.com");
	assert_true(dns_troubles_eq(a, b));
	add(a, RECORDS_FAILED, "x/web", "a.example.com");
	add(b, RECORDS_ELSEWHERE, "x/web", "a.example.com");
	assert_false(dns_troubles_eq(a, b));
	dns_troubles_free(a);
	dns_troubles_free(b);
	dns_troubles_free(NULL);
}

static void each_load_balancer_hears_its_own(void **state)
{
	struct dns_troubles *troubles = dns_troubles_new();
	struct dns_troubles *none = dns_troubles_new();
	struct lb_notice *list = NULL;
	struct arena arena;
	arena_init(&arena);
	add(troubles, RECORDS_FAILED, "x/web", "c.example.com");
	add(troubles, RECORDS_NOT_OURS, "x/web", "b.example.com");
	add(troubles, RECORDS_NOT_OURS, "x/zeta", "z.example.com");
	add(troubles, RECORDS_NOT_OURS, "x/web", "a.example.com");
	dns_troubles_eq(troubles, none);
	assert_int_equal(dns_troubles_notices(troubles, STR("x/web"), &arena, &list), 2);
	assert_true(str_eq_c(list[0].reason, "HostNotOurs"));
	assert_true(str_eq_c(list[0].ingress, "x/web"));
	assert_true(str_ends_with(list[0].message, STR(": a.example.com, b.example.com")));
	assert_true(str_eq_c(list[1].reason, "DnsRecordsFailed"));
	assert_int_equal(dns_troubles_notices(troubles, STR("x/we"), &arena, &list), 0);
	assert_true(dns_troubles_has_failed(troubles, STR("x/web")));
	assert_false(dns_troubles_has_failed(troubles, STR("x/zeta")));
	assert_int_equal(dns_troubles_notices(none, STR("x/web"), &arena, &list), 0);
	arena_fini(&arena);
	dns_troubles_free(troubles);
	dns_troubles_free(none);
}

static void there_are_not_too_many(void **state)
{
	struct dns_troubles *troubles = dns_troubles_new();
	struct lb_notice *list = NULL;
	struct arena arena;
	arena_init(&arena);
	for (size_t i = 0; i < DNS_TROUBLES_MAX + 10; i++) {
		char lb[32];
		snprintf(lb, sizeof(lb), "x/%05zu", i);
		add(troubles, RECORDS_NOT_OURS, lb, "a.example.com");
	}
	dns_troubles_eq(troubles, troubles);
	assert_int_equal(dns_troubles_notices(troubles, STR("x/03999"), &arena, &list), 1);
	assert_int_equal(dns_troubles_notices(troubles, STR("x/04000"), &arena, &list), 0);
	arena_fini(&arena);
	dns_troubles_free(troubles);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_order_of_coming_does_not_count),
		cmocka_unit_test(each_load_balancer_hears_its_own),
		cmocka_unit_test(there_are_not_too_many),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

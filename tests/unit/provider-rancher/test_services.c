// SPDX-License-Identifier: Apache-2.0
#include "provider-rancher/services.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

static char woken[128];

/* Balancers are told apart by their address only. */
static char some_balancers[4];
#define BALANCER(i) ((struct balancer *)(void *)&some_balancers[i])

static void on_known(void *ctx, struct balancer *balancer)
{
	size_t len = strlen(woken);
	(void)ctx;
	snprintf(woken + len, sizeof(woken) - len, "%d",
		(int)((char *)(void *)balancer - some_balancers));
}

static void take(
	struct services *services, const char *uid, const char *id, bool is_gone, uint64_t list)
{
	struct rancher_service service = {str_from(id), str_from(uid), is_gone};
	woken[0] = '\0';
	services_take(services, &service, list, on_known, NULL);
}

static void finds_what_lists_and_events_told(void **state)
{
	(void)state;
	struct services *services = services_new();
	take(services, "u1", "1s1", false, 1);
	take(services, "u2", "1s2", false, 1);
	services_end_list(services, 1);
	assert_true(str_eq_c(services_find(services, STR("u2")), "1s2"));
	assert_int_equal(services_find(services, STR("u3")).len, 0);
	/* The next list no longer shows u1; an event told of u3 while it was under way. */
	take(services, "u2", "1s2", false, 2);
	take(services, "u3", "1s3", false, 0);
	services_end_list(services, 2);
	assert_int_equal(services_find(services, STR("u1")).len, 0);
	assert_true(str_eq_c(services_find(services, STR("u2")), "1s2"));
	assert_true(str_eq_c(services_find(services, STR("u3")), "1s3"));
	/* But the list after that has to show it. */
	take(services, "u2", "1s2", false, 3);
	take(services, "u2", "1s2", false, 4);
	services_end_list(services, 4);
	assert_true(str_eq_c(services_find(services, STR("u2")), "1s2"));
	assert_int_equal(services_find(services, STR("u3")).len, 0);
	services_free(services);
}

static void a_replaced_service_is_not_forgotten_with_the_old_one(void **state)
{
	(void)state;
	struct services *services = services_new();
	take(services, "u1", "1s1", false, 0);
	take(services, "u1", "1s7", false, 0);
	take(services, "u1", "1s1", true, 0);
	assert_true(str_eq_c(services_find(services, STR("u1")), "1s7"));
	take(services, "u1", "1s7", true, 0);
	assert_int_equal(services_find(services, STR("u1")).len, 0);
	take(services, "u9", "1s9", true, 0);
	services_free(services);
}

static void those_who_wait_are_woken_once(void **state)
{
	struct str uids[4];
	(void)state;
	struct services *services = services_new();
	services_wait(services, STR("u1"), BALANCER(0));
	services_wait(services, STR("u1"), BALANCER(1));
	services_wait(services, STR("u1"), BALANCER(1));
	services_wait(services, STR("u2"), BALANCER(1));
	services_wait(services, STR("u2"), BALANCER(2));
	assert_int_equal(services_awaited(services, uids, 4), 2);
	assert_true(str_eq_c(uids[0], "u1") && str_eq_c(uids[1], "u2"));
	assert_int_equal(services_awaited(services, uids, 1), 1);
	services_stop_waiting(services, BALANCER(1));
	take(services, "u1", "1s1", false, 0);
	assert_string_equal(woken, "0");
	take(services, "u1", "1s1", false, 0);
	assert_string_equal(woken, "");
	assert_true(services_has_waiting(services));
	take(services, "u2", "1s2", false, 3);
	assert_string_equal(woken, "2");
	assert_false(services_has_waiting(services));
	services_stop_waiting(services, BALANCER(3));
	services_wait(services, STR("u5"), BALANCER(3));
	services_free(services);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_what_lists_and_events_told),
		cmocka_unit_test(a_replaced_service_is_not_forgotten_with_the_old_one),
		cmocka_unit_test(those_who_wait_are_woken_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

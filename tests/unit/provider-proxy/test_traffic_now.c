// SPDX-License-Identifier: Apache-2.0
/* What a proxy says of this moment. */
#include "provider-proxy/traffic_now.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define POOL "paaaaaaaaaaaaaaaa"

static struct traffic_now *now;

static int set_up(void **state)
{
	(void)state;
	now = traffic_now_new(2);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	traffic_now_free(now);
	return 0;
}

static void take(const char *line)
{
	traffic_now_take(now, str_from(line));
}

/* `NAME COUNT;` of each. */
static const char *shown(void)
{
	static char text[512];
	size_t len = 0;
	const struct traffic_owner *owner = NULL;
	text[0] = '\0';
	while ((owner = traffic_now_next(now, owner)) != NULL)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%.*s %d;",
			STR_FMT(traffic_owner_name(owner)), (int)traffic_owner_active(owner));
	return text;
}

static void active(void **state)
{
	(void)state;
	take("shop/front 1 2 3");
	take("/(active) shop/back 3");
	take("/(active) shop/back 2");
	assert_string_equal(shown(), "shop/back 5;shop/front 0;");
	/* There is room for two. */
	take("/(active) shop/third 1");
	take("/(active) shop/fourth 4");
	take("/(active) /(none) 7");
	take("/(active) shop/front 9");
	assert_string_equal(shown(), "/(none) 7;/(others) 5;shop/back 5;shop/front 9;");
}

static void out_of_use(void **state)
{
	(void)state;
	take("/(out) " POOL " 192.0.2.1 80");
	take("/(out) - 2001:DB8::1 443");
	assert_true(traffic_now_is_out(now, STR(POOL), STR("192.0.2.1"), 80));
	assert_false(traffic_now_is_out(now, STR(POOL), STR("192.0.2.1"), 81));
	assert_false(traffic_now_is_out(now, STR("pbbbbbbbbbbbbbbbb"), STR("192.0.2.1"), 80));
	assert_true(traffic_now_is_out(now, STR("pbbbbbbbbbbbbbbbb"), STR("2001:db8::1"), 443));
}

/* Nothing of it leaves anything behind. */
static void refused(void **state)
{
	static const char *const lines[] = {"", " ", "/(active)", "/(active) ", "/(active) a/b",
		"/(active) a/b -1", "/(active) a/b x", "/(active) a 1", "/(active) A/b 1",
		"/(active) a/b\"} 1", "/(active) a/b 99999999999999999999", "/(out)",
		"/(out) x y z", "/(out) " POOL " 192.0.2.1 0", "/(out) " POOL " 192.0.2.1 65536",
		"/(out) " POOL " 192.0.2.1", "/(out) " POOL " nobody 80", "/(out) x 192.0.2.1 80",
		"/(lost) 3", "\x1b[31m 1"};
	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		take(lines[i]);
	assert_string_equal(shown(), "");
	assert_false(traffic_now_is_out(now, STR(POOL), STR("192.0.2.1"), 80));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(active, set_up, tear_down),
		cmocka_unit_test_setup_teardown(out_of_use, set_up, tear_down),
		cmocka_unit_test_setup_teardown(refused, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

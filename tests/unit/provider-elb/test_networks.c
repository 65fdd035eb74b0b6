// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/networks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

static void networks_are_read(void **state)
{
	static const struct {
		const char *cidr;
		bool is_good;
	} cases[] = {
		{"10.0.0.0/16", true},
		{"10.0.0.1/32", true},
		{"0.0.0.0/0", true},
		{"2600:1f00::/56", true},
		{"::/0", true},
		{"10.0.0.0", false},
		{"10.0.0.0/", false},
		{"10.0.0.0/33", false},
		{"10.0.0.0/-1", false},
		{"10.0.0.0/08", false},
		{"10.0.0.0/8 ", false},
		{"10.0.0/8", false},
		{"2600:1f00::/129", false},
		{"/8", false},
		{"", false},
		{"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/8", false},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct networks *networks = networks_new();
		assert_int_equal(networks_add(networks, str_from(cases[i].cidr)), cases[i].is_good);
		networks_free(networks);
	}
}

static void there_is_a_limit(void **state)
{
	struct networks *networks = networks_new();
	for (int i = 0; i < NETWORKS_MAX; i++)
		assert_true(networks_add(networks, STR("10.0.0.0/16")));
	assert_false(networks_add(networks, STR("10.1.0.0/16")));
	networks_free(networks);
}

static void addresses_are_found(void **state)
{
	static const struct {
		const char *ip;
		bool is_in;
		enum network_place place;
		enum network_place unknown; /* when the networks are not known */
	} cases[] = {
		{"10.0.128.0", true, NETWORK_INSIDE, NETWORK_INSIDE},
		{"10.0.255.255", true, NETWORK_INSIDE, NETWORK_INSIDE},
		{"10.0.127.255", false, NETWORK_ELSEWHERE, NETWORK_INSIDE},
		{"10.1.128.0", false, NETWORK_ELSEWHERE, NETWORK_INSIDE},
		{"203.0.113.7", true, NETWORK_INSIDE, NETWORK_INSIDE},
		{"203.0.113.8", false, NETWORK_REFUSED, NETWORK_INSIDE},
		{"2600:1f00:0:ff::1", true, NETWORK_INSIDE, NETWORK_INSIDE},
		{"2600:1f00:0:100::1", false, NETWORK_REFUSED, NETWORK_INSIDE},
		{"fd00::1", false, NETWORK_REFUSED, NETWORK_INSIDE},
		{"172.16.0.1", false, NETWORK_ELSEWHERE, NETWORK_INSIDE},
		{"172.32.0.1", false, NETWORK_REFUSED, NETWORK_INSIDE},
		{"192.168.4.4", false, NETWORK_ELSEWHERE, NETWORK_INSIDE},
		{"100.64.0.1", false, NETWORK_ELSEWHERE, NETWORK_INSIDE},
		{"100.128.0.1", false, NETWORK_REFUSED, NETWORK_INSIDE},
		{"127.0.0.1", false, NETWORK_REFUSED, NETWORK_REFUSED},
		{"169.254.169.254", false, NETWORK_REFUSED, NETWORK_REFUSED},
		{"224.0.0.1", false, NETWORK_REFUSED, NETWORK_REFUSED},
		{"0.0.0.0", false, NETWORK_REFUSED, NETWORK_REFUSED},
		{"::1", false, NETWORK_REFUSED, NETWORK_REFUSED},
		{"::ffff:10.0.128.1", false, NETWORK_REFUSED, NETWORK_REFUSED},
		{"fe80::1", false, NETWORK_REFUSED, NETWORK_REFUSED},
		{"ff02::1", false, NETWORK_REFUSED, NETWORK_REFUSED},
		{"web", false, NETWORK_REFUSED, NETWORK_REFUSED},
		{"", false, NETWORK_REFUSED, NETWORK_REFUSED},
	};
	struct networks *networks = networks_new();
	assert_true(networks_add(networks, STR("10.0.128.0/17")));
	assert_true(networks_add(networks, STR("203.0.113.4/30")));
	assert_true(networks_add(networks, STR("2600:1f00::/56")));
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct str ip = str_from(cases[i].ip);
		if (networks_have(networks, ip) != cases[i].is_in ||
			networks_place(networks, ip) != cases[i].place ||
			networks_place(NULL, ip) != cases[i].unknown)
			fail_msg("%s", cases[i].ip);
	}
	networks_free(networks);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(networks_are_read),
		cmocka_unit_test(there_is_a_limit),
		cmocka_unit_test(addresses_are_found),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

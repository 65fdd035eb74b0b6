// SPDX-License-Identifier: Apache-2.0
#include "common/egress.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { NETWORKS_MAX = 2 };

static struct option_list list_of(const char *const texts[NETWORKS_MAX])
{
	struct option_list list = {(char **)(uintptr_t)texts, 0};
	while (list.count < NETWORKS_MAX && texts[list.count] != NULL)
		list.count++;
	return list;
}

struct row {
	const char *ip;
	const char *refused[NETWORKS_MAX];
	const char *allowed[NETWORKS_MAX];
	const char *why; /* a part of it; NULL: it is not refused */
};

static const struct row rows[] = {
	{"10.0.0.1", .why = NULL},
	{"192.0.2.1", .why = NULL},
	{"128.0.0.1", .why = NULL},
	{"126.255.255.255", .why = NULL},
	{"2001:db8::1", .why = NULL},
	{"fd00::1", .why = NULL},
	{"0.0.0.0", .why = "0.0.0.0/8 is this machine"},
	{"127.0.0.1", .why = "127.0.0.0/8 is this machine"},
	{"127.255.255.255", .why = "this machine"},
	{"169.254.169.254", .why = "link-local"},
	{"224.0.0.1", .why = "multicast"},
	{"255.255.255.255", .why = "multicast, broadcast"},
	{"100.100.100.200", .why = "metadata"},
	{"100.100.100.201", .why = NULL},
	{"168.63.129.16", .why = "metadata"},
	{"192.0.0.192", .why = "metadata"},
	{"::", .why = "::/96 is this machine"},
	{"::1", .why = "::/96 is this machine"},
	{"::127.0.0.1", .why = "::/96 is this machine"},
	{"fe80::1", .why = "link-local"},
	{"febf::1", .why = "link-local"},
	{"fec0::1", .why = NULL},
	{"ff02::1", .why = "multicast"},
	{"fd00:ec2::254", .why = "metadata"},
	{"fd20:ce::254", .why = "metadata"},
	{"fd20:ce::255", .why = NULL},
	/* IPv4 in other clothes. */
	{"::ffff:127.0.0.1", .why = "127.0.0.0/8"},
	{"::ffff:a9fe:a9fe", .why = "169.254.0.0/16"},
	{"::ffff:10.0.0.1", .why = NULL},
	{"64:ff9b::127.0.0.1", .why = "127.0.0.0/8"},
	{"64:ff9b::a9fe:a9fe", .why = "169.254.0.0/16"},
	{"64:ff9b::192.0.2.1", .why = NULL},
	{"64:ff9b:1::a9fe:a9fe", .why = "169.254.0.0/16"},
	{"64:ff9b:1:2::127.0.0.1", .why = "127.0.0.0/8"},
	{"64:ff9b:1::192.0.2.1", .why = NULL},
	{"64:ff9b:2::127.0.0.1", .why = NULL},
	{"::ffff:0:127.0.0.1", .why = "127.0.0.0/8"},
	{"::ffff:0:192.0.2.1", .why = NULL},
	{"2002:a9fe:a9fe::1", .why = "169.254.0.0/16"},
	{"2002:c000:201::1", .why = NULL},
	/* What is no address is not gone to either. */
	{"", .why = "no IP address"},
	{"localhost", .why = "no IP address"},
	{"127.1", .why = "no IP address"},
	{"fe80::1%eth0", .why = "no IP address"},
	{"[::1]", .why = "no IP address"},
	/* More networks add to what is built in. */
	{"10.1.2.3", {"10.0.0.0/8"}, .why = "it is in --refuse-egress 10.0.0.0/8"},
	{"::ffff:10.1.2.3", {"10.0.0.0/8"}, .why = "10.0.0.0/8"},
	{"64:ff9b::10.1.2.3", {"10.0.0.0/8"}, .why = "10.0.0.0/8"},
	{"2002:a01:203::", {"10.0.0.0/8"}, .why = "10.0.0.0/8"},
	{"11.1.2.3", {"10.0.0.0/8"}, .why = NULL},
	{"127.0.0.1", {"10.0.0.0/8"}, .why = "this machine"},
	{"10.1.2.3", {"fd00::/8", "10.1.2.3"}, .why = "10.1.2.3"},
	{"10.1.2.2", {"fd00::/8", "10.1.2.3"}, .why = NULL},
	{"fdff::1", {"fd00::/8", "10.1.2.3"}, .why = "fd00::/8"},
	{"10.1.2.3", {"10.255.255.255/8"}, .why = "10.255.255.255/8"},
	{"1.1.1.1", {"0.0.0.0/0"}, .why = "0.0.0.0/0"},
	{"fd00::1", {"0.0.0.0/0"}, .why = NULL},
	{"fd00:0:0:1::1", {"fd00::/63"}, .why = "fd00::/63"},
	{"fd00:0:0:2::1", {"fd00::/63"}, .why = NULL},
	/* Only a name takes out of it. */
	{"127.0.0.5", {0}, {"127.0.0.0/8"}, .why = NULL},
	{"127.0.0.5", {0}, {"127.0.0.4"}, .why = "this machine"},
	{"::1", {0}, {"127.0.0.0/8"}, .why = "this machine"},
	{"::ffff:127.0.0.5", {0}, {"127.0.0.0/8"}, .why = NULL},
	{"169.254.1.1", {0}, {"127.0.0.0/8"}, .why = "link-local"},
	{"127.66.6.1", {"127.66.0.0/16"}, {"127.0.0.0/8"}, .why = "127.66.0.0/16"},
	{"127.66.6.1", {"127.66.0.0/16"}, {"127.66.6.1"}, .why = "127.66.0.0/16"},
};

static void nobody_is_sent_where_it_is_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct egress_options options = {
			list_of(rows[i].refused), list_of(rows[i].allowed)};
		char *problem = NULL;
		struct egress *egress = egress_new(&options, &problem);
		assert_non_null(egress);
		const char *why = egress_refusal(egress, str_from(rows[i].ip));
		if ((why == NULL) != (rows[i].why == NULL) ||
			(why != NULL && strstr(why, rows[i].why) == NULL))
			fail_msg("row %zu, %s: %s", i, rows[i].ip, why != NULL ? why : "allowed");
		egress_free(egress);
	}
}

static void without_a_policy_it_is_what_is_built_in(void **state)
{
	(void)state;
	assert_non_null(egress_refusal(NULL, STR("127.0.0.1")));
	assert_non_null(egress_refusal(NULL, STR("::1")));
	assert_null(egress_refusal(NULL, STR("10.0.0.1")));
	egress_free(NULL);
}

static void what_is_no_network_is_named(void **state)
{
	static const char *const bad[] = {"", "/8", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1",
		"10.0.0.0/8/8", "10.0.0/8", "fd00::/129", "::ffff:10.0.0.0/x", "a.test",
		"10.0.0.0/ 8"};
	(void)state;
	for (size_t i = 0; i < 2 * sizeof(bad) / sizeof(bad[0]); i++) {
		const char *const texts[NETWORKS_MAX] = {"10.0.0.0/8", bad[i / 2]};
		struct egress_options options = {0};
		char *problem = NULL;
		*(i % 2 == 0 ? &options.refused : &options.allowed) = list_of(texts);
		assert_null(egress_new(&options, &problem));
		assert_non_null(problem);
		assert_non_null(strstr(problem, i % 2 == 0 ? "--refuse-egress" : "--allow-egress"));
		free(problem);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nobody_is_sent_where_it_is_refused),
		cmocka_unit_test(without_a_policy_it_is_what_is_built_in),
		cmocka_unit_test(what_is_no_network_is_named),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

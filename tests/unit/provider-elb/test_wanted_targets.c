// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/networks.h"
#include "provider-elb/wanted.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

enum { ENDPOINTS_MAX = 16 };

struct fixture {
	struct arena arena;
	struct settings settings;
	struct pool pool;
	struct pool_endpoint endpoints[ENDPOINTS_MAX];
	struct elb_group group;
	struct elb_target_list targets;
	size_t left_out;
};

static int set_up(void **ret_fixture)
{
	struct fixture *f = test_calloc(1, sizeof(*f));
	arena_init(&f->arena);
	settings_init(&f->settings);
	f->pool.endpoints.items = f->endpoints;
	*ret_fixture = f;
	return 0;
}

static int tear_down(void **fixture)
{
	struct fixture *f = *fixture;
	arena_fini(&f->arena);
	test_free(f);
	return 0;
}

static struct pool_endpoint *add(struct fixture *f, const char *ip, uint64_t port)
{
	assert_true(f->pool.endpoints.count < ENDPOINTS_MAX);
	struct pool_endpoint *endpoint = &f->endpoints[f->pool.endpoints.count++];
	*endpoint = (struct pool_endpoint){.ip = str_from(ip), .port = port, .active = true};
	return endpoint;
}

/* "ip:port ip:port*", where the star is for another network. */
static const char *targets(struct fixture *f, const struct elb_target_list *registered, size_t max)
{
	static char text[512];
	size_t len = 0;
	wanted_targets(&f->pool, &f->group, &f->settings, registered, max, &f->arena, &f->targets,
		&f->left_out);
	text[0] = '\0';
	for (size_t i = 0; i < f->targets.count; i++) {
		const struct elb_target *t = &f->targets.items[i];
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%.*s:%u%s",
			i == 0 ? "" : " ", STR_FMT(t->ip), (unsigned)t->port,
			t->is_elsewhere ? "*" : "");
	}
	return text;
}

static void active_endpoints_are_targets(void **fixture)
{
	struct fixture *f = *fixture;
	assert_string_equal(targets(f, NULL, 10), "");
	add(f, "10.0.0.2", 81);
	add(f, "10.0.0.2", 80);
	add(f, "10.0.0.10", 80);
	add(f, "10.0.0.3", 80)->active = false;
	add(f, "10.0.0.4", 0);
	add(f, "10.0.0.2", 80)->zone = STR("b");
	assert_string_equal(targets(f, NULL, 10), "10.0.0.10:80 10.0.0.2:80 10.0.0.2:81");
	assert_int_equal(f->left_out, 0);
}

static void one_family_at_a_time(void **fixture)
{
	struct fixture *f = *fixture;
	add(f, "10.0.0.2", 80);
	add(f, "2600::1", 80);
	assert_string_equal(targets(f, NULL, 10), "10.0.0.2:80");
	f->group.is_ipv6 = true;
	assert_string_equal(targets(f, NULL, 10), "2600::1:80");
	assert_int_equal(f->left_out, 0);
}

static void addresses_that_aws_would_refuse_are_left_out(void **fixture)
{
	struct fixture *f = *fixture;
	struct networks *networks = networks_new();
	assert_true(networks_add(networks, STR("10.0.0.0/16")));
	add(f, "10.0.0.2", 80);
	add(f, "10.1.0.2", 80);
	add(f, "203.0.113.1", 80);
	add(f, "127.0.0.1", 80);
	add(f, "169.254.169.254", 80);
	/* They are not known: nobody says that it is outside. */
	assert_string_equal(targets(f, NULL, 10), "10.0.0.2:80 10.1.0.2:80 203.0.113.1:80");
	f->settings.networks = networks;
	assert_string_equal(targets(f, NULL, 10), "10.0.0.2:80 10.1.0.2:80*");
	networks_free(networks);
}

static void what_is_registered_stays_when_there_are_too_many(void **fixture)
{
	struct fixture *f = *fixture;
	struct elb_target registered[] = {
		{STR("10.0.0.4"), 80, false}, {STR("10.0.0.9"), 80, false}};
	const struct elb_target_list list = {registered, 2};
	add(f, "10.0.0.1", 80)->zone = STR("a");
	add(f, "10.0.0.2", 80)->zone = STR("a");
	add(f, "10.0.0.3", 80)->zone = STR("a");
	add(f, "10.0.0.4", 80)->zone = STR("b");
	add(f, "10.0.0.5", 80)->zone = STR("b");
	/* From each zone in turn. */
	assert_string_equal(targets(f, NULL, 3), "10.0.0.1:80 10.0.0.2:80 10.0.0.4:80");
	assert_int_equal(f->left_out, 2);
	assert_string_equal(targets(f, NULL, 4), "10.0.0.1:80 10.0.0.2:80 10.0.0.4:80 10.0.0.5:80");
	assert_int_equal(f->left_out, 1);
	assert_string_equal(targets(f, &list, 1), "10.0.0.4:80");
	registered[0].ip = STR("10.0.0.3");
	assert_string_equal(targets(f, &list, 2), "10.0.0.1:80 10.0.0.3:80");
	assert_string_equal(targets(f, &list, 5),
		"10.0.0.1:80 10.0.0.2:80 10.0.0.3:80 10.0.0.4:80 10.0.0.5:80");
	assert_string_equal(targets(f, &list, 0), "");
	assert_int_equal(f->left_out, 5);
}

/* What was chosen once stays chosen, whatever comes to it. */
static void the_choice_is_stable(void **fixture)
{
	struct fixture *f = *fixture;
	add(f, "10.0.0.5", 80)->zone = STR("a");
	add(f, "10.0.0.6", 80)->zone = STR("b");
	targets(f, NULL, 2);
	struct elb_target_list before = f->targets;
	add(f, "10.0.0.1", 80)->zone = STR("a");
	add(f, "10.0.0.2", 80)->zone = STR("c");
	assert_string_equal(targets(f, &before, 2), "10.0.0.5:80 10.0.0.6:80");
	f->endpoints[0].active = false;
	assert_string_equal(targets(f, &before, 2), "10.0.0.1:80 10.0.0.6:80");
}

static void others_that_still_serve_are_known(void **fixture)
{
	struct fixture *f = *fixture;
	struct elb_target_list serving;
	add(f, "10.0.0.1", 80);
	add(f, "10.0.0.3", 80)->active = false;
	add(f, "10.0.0.2", 80)->active = false;
	add(f, "10.0.0.2", 80)->active = false;
	add(f, "fd00::1", 80)->active = false;
	wanted_serving(&f->pool, &f->group, &f->settings, &f->arena, &serving);
	assert_int_equal(serving.count, 2);
	assert_true(str_eq_c(serving.items[0].ip, "10.0.0.2"));
	assert_true(str_eq_c(serving.items[1].ip, "10.0.0.3"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(active_endpoints_are_targets, set_up, tear_down),
		cmocka_unit_test_setup_teardown(one_family_at_a_time, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			addresses_that_aws_would_refuse_are_left_out, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			what_is_registered_stays_when_there_are_too_many, set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_choice_is_stable, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			others_that_still_serve_are_known, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

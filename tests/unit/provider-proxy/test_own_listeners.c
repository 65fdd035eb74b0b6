// SPDX-License-Identifier: Apache-2.0
#include "provider-proxy/own_listeners.h"

#include "../provider-common/objects.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

struct fixture {
	struct state *state;
	struct publish *publish;
	struct notices *notices;
	struct own_listeners *own;
	struct message_reader *reader;
	struct arena arena;
	struct buf buf;
};

static void set_addresses(struct fixture *f, bool with_shared)
{
	struct check_ip ips[3];
	assert_true(check_ip(STR("192.0.2.1"), &ips[0]));
	assert_true(check_ip(STR("2001:db8::1"), &ips[1]));
	assert_true(check_ip(STR("192.0.2.100"), &ips[2]));
	assert_true(own_listeners_set_addresses(f->own, ips, with_shared ? 3 : 2));
	assert_false(own_listeners_set_addresses(f->own, ips, with_shared ? 3 : 2));
}

static int set_up(void **ret_fixture)
{
	static const struct state_config config = {0};
	static const struct option_list none = {0};
	static char *binds[] = {(char *)(uintptr_t) "0.0.0.0", (char *)(uintptr_t) "::"};
	static const struct option_list everywhere = {binds, 2};
	struct fixture *f = calloc(1, sizeof(*f));
	char *problem = NULL;
	f->state = state_new(&config);
	f->publish = publish_new(&none, &everywhere, &problem);
	f->notices = notices_new(NULL, NULL);
	f->own = own_listeners_new(f->publish, f->notices);
	f->reader = message_reader_new();
	arena_init(&f->arena);
	buf_init(&f->buf, FRAME_LEN_MAX);
	*ret_fixture = f;
	return problem == NULL ? 0 : -1;
}

static int tear_down(void **fixture)
{
	struct fixture *f = *fixture;
	own_listeners_free(f->own);
	publish_free(f->publish);
	state_free(f->state);
	notices_free(f->notices);
	message_reader_free(f->reader);
	arena_fini(&f->arena);
	buf_fini(&f->buf);
	free(f);
	return 0;
}

/* Whether that changes where we listen. */
static bool put(
	struct fixture *f, const char *id, bool keep, struct listener *listeners, size_t count)
{
	struct load_balancer balancer = {
		.key = {.kind = LB_LOAD_BALANCER, .id = str_from(id), .rev = 1},
		.name = str_from(id),
		.keep = keep,
		.listeners = {listeners, count},
	};
	struct schema_error error = {""};
	struct message message;
	struct state_commit commit;
	struct str payload = encode_upsert(&f->buf, &balancer);
	assert_int_equal(message_open(f->reader, payload, &message, &error), 0);
	assert_int_equal(state_stage_upsert(f->state, &message, &f->arena, &error), 0);
	state_commit(f->state, &commit);
	state_commit_done(f->state);
	return own_listeners_set_wanted(f->own, f->state);
}

static struct pool pool_of(struct pool_endpoint *endpoints, size_t count)
{
	return (struct pool){
		.key = {.kind = LB_POOL, .id = STR("default/web:80"), .rev = 1},
		.service = {.namespace = STR("default"), .name = STR("web")},
		.endpoints = {endpoints, count},
	};
}

static bool is_left_out_of(
	struct fixture *f, const char *ip, uint64_t port, enum pool_protocol protocol)
{
	struct pool_endpoint endpoint = {.ip = str_from(ip), .port = port, .active = true};
	struct pool pool = pool_of(&endpoint, 1);
	pool.protocol = protocol;
	bool concerns = own_listeners_concern(f->own, &pool);
	own_listeners_settle(f->own, &pool, &f->arena);
	assert_true(concerns || pool.endpoints.count == 1);
	return pool.endpoints.count == 0;
}

static bool is_left_out(struct fixture *f, const char *ip, uint64_t port)
{
	return is_left_out_of(f, ip, port, POOL_HTTP);
}

/* A datagram would go round for ever. Others have the number of a port of UDP for TCP, and the other way round. */
static void datagrams_do_not_go_round(void **fixture)
{
	struct fixture *f = *fixture;
	struct listener listeners[] = {{.port = 80}, {.port = 53, .protocol = LISTENER_UDP},
		{.port = 54}, {.port = 54, .protocol = LISTENER_UDP, .address = STR("192.0.2.7")}};
	set_addresses(f, false);
	assert_true(put(f, "class/a", false, listeners, 4));
	assert_true(is_left_out_of(f, "192.0.2.1", 53, POOL_UDP));
	assert_false(is_left_out_of(f, "192.0.2.1", 53, POOL_TCP));
	assert_true(is_left_out_of(f, "192.0.2.1", 54, POOL_TCP));
	assert_false(is_left_out_of(f, "192.0.2.1", 54, POOL_UDP));
	assert_true(is_left_out_of(f, "192.0.2.7", 54, POOL_UDP));
	assert_false(is_left_out_of(f, "192.0.2.1", 80, POOL_UDP));
}

static void our_own_listeners_are_left_out(void **fixture)
{
	static const struct {
		const char *ip;
		uint64_t port;
		bool is_left_out;
	} rows[] = {
		{"192.0.2.1", 80, true},
		{"2001:db8::1", 80, true},
		{"::ffff:192.0.2.1", 80, true},
		{"127.0.0.9", 80, true},
		{"::1", 80, true},
		{"0.0.0.0", 80, true},
		{"192.0.2.2", 80, false}, /* another machine */
		{"2001:db8::2", 80, false},
		{"192.0.2.1", 8080, false}, /* another program of this one */
		{"192.0.2.7", 8443, true},
		{"192.0.2.1", 8443, false}, /* that port is bound to one address */
		{"127.0.0.1", 8443, false},
		{"192.0.2.1", 70000, false},
		{"nowhere", 80, false},
	};
	struct fixture *f = *fixture;
	struct listener listeners[] = {{.port = 80}, {.port = 8443, .address = STR("192.0.2.7")}};
	set_addresses(f, false);
	assert_false(is_left_out(f, "192.0.2.1", 80));
	assert_true(put(f, "class/a", false, listeners, 2));
	assert_false(put(f, "class/a", false, listeners, 2));
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (is_left_out(f, rows[i].ip, rows[i].port) != rows[i].is_left_out)
			fail_msg("%s, port %u", rows[i].ip, (unsigned)rows[i].port);
	}
}

static void what_changes_is_followed(void **fixture)
{
	struct fixture *f = *fixture;
	struct listener web = {.port = 80};
	struct listener db = {.port = 5432};
	set_addresses(f, false);
	assert_true(put(f, "class/a", false, &web, 1));
	assert_true(put(f, "class/b", false, &db, 1));
	assert_true(is_left_out(f, "192.0.2.1", 5432));
	/* An address comes, as one that machines share does, and goes. */
	assert_false(is_left_out(f, "192.0.2.100", 80));
	set_addresses(f, true);
	assert_true(is_left_out(f, "192.0.2.100", 80));
	set_addresses(f, false);
	assert_false(is_left_out(f, "192.0.2.100", 80));
	/* What nobody knows any more stays as it was. */
	assert_false(put(f, "class/b", true, NULL, 0));
	assert_true(is_left_out(f, "192.0.2.1", 5432));
	/* A port that is given up is free for others; pools with it are concerned by that. */
	struct pool_endpoint endpoint = {.ip = STR("192.0.2.1"), .port = 5432};
	struct pool pool = pool_of(&endpoint, 1);
	assert_true(put(f, "class/b", false, &web, 1));
	assert_true(own_listeners_concern(f->own, &pool));
	assert_false(is_left_out(f, "192.0.2.1", 5432));
	struct pool name = {.external_name = STR("a.test"), .target_port = 80};
	assert_true(own_listeners_concern(f->own, &name));
	name.target_port = 81;
	assert_false(own_listeners_concern(f->own, &name));
}

static struct str told(struct fixture *f)
{
	struct lb_notice *notices;
	size_t count = notices_list(f->notices, STR(""), &f->arena, &notices);
	assert_in_range(count, 0, 1);
	if (count == 0)
		return STR("");
	assert_true(str_eq_c(notices[0].service, "default/web"));
	assert_true(str_eq_c(notices[0].reason, "EndpointRefused"));
	return notices[0].message;
}

static void the_service_is_told(void **fixture)
{
	struct fixture *f = *fixture;
	struct listener web = {.port = 80};
	struct pool_endpoint both[] = {
		{.ip = STR("2001:db8::1"), .port = 80, .active = true},
		{.ip = STR("10.0.0.1"), .port = 80, .active = true},
		{.ip = STR("192.0.2.1"), .port = 80, .active = true},
	};
	struct pool pool = pool_of(both, 3);
	set_addresses(f, false);
	assert_true(put(f, "class/a", false, &web, 1));
	own_listeners_settle(f->own, &pool, &f->arena);
	assert_int_equal(pool.endpoints.count, 1);
	assert_true(str_eq_c(pool.endpoints.items[0].ip, "10.0.0.1"));
	assert_true(str_eq_c(told(f),
		"endpoint [2001:db8::1]:80 of Service web is refused: the load balancer itself "
		"listens there; the others are used"));
	assert_true(is_left_out(f, "192.0.2.1", 80));
	assert_true(str_eq_c(told(f),
		"endpoint 192.0.2.1:80 of Service web is refused: the load balancer itself listens "
		"there; requests are answered with 503"));
	assert_false(is_left_out(f, "10.0.0.1", 80));
	assert_true(str_eq_c(told(f), ""));
	assert_true(is_left_out(f, "192.0.2.1", 80));
	own_listeners_drop(f->own, STR("default/web:80"));
	assert_true(str_eq_c(told(f), ""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(our_own_listeners_are_left_out, set_up, tear_down),
		cmocka_unit_test_setup_teardown(datagrams_do_not_go_round, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_changes_is_followed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_service_is_told, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

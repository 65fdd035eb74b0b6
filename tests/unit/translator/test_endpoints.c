// SPDX-License-Identifier: Apache-2.0
#include "translator/endpoints.h"

#include "tests/unit/translator/help.h"

/* An address as text: "ip uid RST", the letters that hold. */
struct slice {
	const char *name;
	uint64_t created;
	const char *port_name;
	uint64_t port;
	enum ip_protocol protocol;
	const char *addresses[4];
};

struct row {
	const char *name;
	struct service_port port;
	struct slice slices[3];
	const char *want; /* "ip:port", "!" behind those that are not active */
	uint64_t target;
	bool mixed;
	const char *refused; /* "ip", "ip+" when there are others */
};

#define MAIN ((struct service_port){.name = STR("main"), .port = 80, .target_number = 8080})

static const struct row rows[] = {
	{"nothing", {.target_number = 8080}, {{0}}, "", 8080, false},
	{"nothing, named target", {.target_name = STR("x")}, {{0}}, "", 0, false},
	{"nothing, no target, which no watcher says", {.port = 80}, {{0}}, "", 0, false},
	{"name and protocol must fit", {.name = STR("main"), .target_number = 1},
		{{"a", 1, "main", 8080, PROTOCOL_TCP, {"10.0.0.1 p RS"}},
			{"b", 1, "other", 8080, PROTOCOL_TCP, {"10.0.0.2 p RS"}},
			{"c", 1, "main", 8080, PROTOCOL_UDP, {"10.0.0.3 p RS"}}},
		"10.0.0.1:8080", 8080, false},
	{"the unnamed port fits the absent name", {.target_number = 1},
		{{"a", 1, "", 8080, PROTOCOL_TCP, {"10.0.0.1 p RS"}}}, "10.0.0.1:8080", 8080,
		false},
	{"sorted, v4 and v6", {.target_number = 1},
		{{"a", 1, "", 8080, PROTOCOL_TCP, {"fd00::2 p RS", "10.0.0.2 p RS"}},
			{"b", 1, "", 8080, PROTOCOL_TCP, {"10.0.0.1 p RS"}}},
		"10.0.0.1:8080 10.0.0.2:8080 fd00::2:8080", 8080, false},
	{"one address in two spellings is one", {.target_number = 1},
		{{"a", 1, "", 80, PROTOCOL_TCP, {"FD00:0::1 p RS", "fd00::1 p RS"}}}, "fd00::1:80",
		80, false},
	{"what is no address is left out", {.target_number = 1},
		{{"a", 1, "", 80, PROTOCOL_TCP,
			{"pod.example p RS", "1.2.3 p RS", "1.2.3.4.5 p RS", "999.1.1.1 p RS"}}},
		"", 1, false},
	{"not ready and not serving is left out", {.target_number = 1},
		{{"a", 1, "", 80, PROTOCOL_TCP, {"10.0.0.1 p T", "10.0.0.2 q -"}}}, "", 1, false},
	{"drains while another is ready", {.target_number = 1},
		{{"a", 1, "", 80, PROTOCOL_TCP, {"10.0.0.1 p ST", "10.0.0.2 q RS"}}},
		"10.0.0.1:80! 10.0.0.2:80", 80, false},
	{"serving and terminating when none is ready", {.target_number = 1},
		{{"a", 1, "", 80, PROTOCOL_TCP, {"10.0.0.1 p ST", "10.0.0.2 q S"}}},
		"10.0.0.1:80 10.0.0.2:80!", 80, false},
	{"ready though terminating counts as ready", {.target_number = 1},
		{{"a", 1, "", 80, PROTOCOL_TCP, {"10.0.0.1 p RST"}}}, "10.0.0.1:80", 80, false},
	{"of one pod the newer slice", {.target_number = 1},
		{{"old", 1, "", 80, PROTOCOL_TCP, {"10.0.0.1 p RS"}},
			{"new", 2, "", 80, PROTOCOL_TCP, {"10.0.0.1 p ST"}}},
		"10.0.0.1:80", 80, false},
	{"of one pod the newer slice, even if that one is worse", {.target_number = 1},
		{{"old", 1, "", 80, PROTOCOL_TCP, {"10.0.0.1 p RS", "10.0.0.2 q RS"}},
			{"new", 2, "", 80, PROTOCOL_TCP, {"10.0.0.1 p ST"}}},
		"10.0.0.1:80! 10.0.0.2:80", 80, false},
	{"of two pods the better", {.target_number = 1},
		{{"old", 1, "", 80, PROTOCOL_TCP, {"10.0.0.1 p RS", "10.0.0.2 z RS"}},
			{"new", 2, "", 80, PROTOCOL_TCP, {"10.0.0.1 q ST"}}},
		"10.0.0.1:80 10.0.0.2:80", 80, false},
	{"an old copy does not speak for its pod against another", {.target_number = 1},
		{{"old", 1, "", 80, PROTOCOL_TCP, {"10.0.0.1 p RS", "10.0.0.2 z RS"}},
			{"new", 2, "", 80, PROTOCOL_TCP, {"10.0.0.1 p ST"}},
			{"mid", 2, "", 80, PROTOCOL_TCP, {"10.0.0.1 q ST"}}},
		"10.0.0.1:80! 10.0.0.2:80", 80, false},
	{"one address on two ports is two", {.target_number = 1},
		{{"a", 1, "", 80, PROTOCOL_TCP, {"10.0.0.1 p RS"}},
			{"b", 1, "", 81, PROTOCOL_TCP, {"10.0.0.1 p RS"}}},
		"10.0.0.1:80 10.0.0.1:81", 80, true},
	{"the number that most have", {.target_number = 1},
		{{"a", 1, "", 9, PROTOCOL_TCP, {"10.0.0.1 p RS"}},
			{"b", 1, "", 10, PROTOCOL_TCP, {"10.0.0.2 q RS", "10.0.0.3 r RS"}}},
		"10.0.0.1:9 10.0.0.2:10 10.0.0.3:10", 10, true},
	{"only active ones count for it", {.target_number = 1},
		{{"a", 1, "", 9, PROTOCOL_TCP, {"10.0.0.1 p ST", "10.0.0.4 s ST"}},
			{"b", 1, "", 10, PROTOCOL_TCP, {"10.0.0.2 q RS"}}},
		"10.0.0.1:9! 10.0.0.2:10 10.0.0.4:9!", 10, false},
	{"no number, numeric target", {.target_number = 7},
		{{"a", 1, "", 0, PROTOCOL_TCP, {"10.0.0.1 p RS"}}}, "10.0.0.1:7", 7, false},
	{"the load balancer's own machine", {.target_number = 1},
		{{"a", 1, "", 80, PROTOCOL_TCP, {"10.0.0.1 p RS", "127.0.0.1 q RS"}},
			{"b", 1, "", 80, PROTOCOL_TCP, {"127.0.0.1 q RS"}}},
		"10.0.0.1:80", 80, false, "127.0.0.1"},
	{"the first of several by text", {.target_number = 1},
		{{"a", 1, "", 80, PROTOCOL_TCP, {"fe80::1 p RS", "169.254.169.254 q RS"}},
			{"b", 1, "", 80, PROTOCOL_TCP, {"::FFFF:127.0.0.1 q RS"}}},
		"", 1, false, "169.254.169.254+"},
	{"what is not used is not told", {.target_number = 1},
		{{"a", 1, "", 80, PROTOCOL_TCP, {"127.0.0.1 p -"}}}, "", 1, false},
	{"no number, named target", {.target_name = STR("x")},
		{{"a", 1, "", 0, PROTOCOL_TCP, {"10.0.0.1 p RS"}}}, "", 0, false},
};

static struct endpoint_address address_of(struct arena *arena, const char *text)
{
	const char *space = strchr(text, ' ');
	const char *flags = strrchr(text, ' ');
	return (struct endpoint_address){
		.ip = arena_str(arena, (struct str){text, (size_t)(space - text)}),
		.target_uid = {space + 1, (size_t)(flags - space) - 1},
		.ready = strchr(flags, 'R') != NULL,
		.serving = strchr(flags, 'S') != NULL,
		.terminating = strchr(flags, 'T') != NULL,
	};
}

static const struct endpoints_record *record_of(struct arena *arena, const struct slice *slice)
{
	struct endpoints_record *record = arena_alloc(arena, sizeof(*record));
	struct endpoint_subset *subset = arena_alloc(arena, sizeof(*subset));
	struct endpoint_port *port = arena_alloc(arena, sizeof(*port));
	struct endpoint_address *addresses = arena_calloc(arena, 4, sizeof(*addresses));
	size_t count = 0;
	for (; count < 4 && slice->addresses[count] != NULL; count++)
		addresses[count] = address_of(arena, slice->addresses[count]);
	*port = (struct endpoint_port){.name = str_from(slice->port_name),
		.port = slice->port,
		.protocol = slice->protocol};
	subset->ports.items = port;
	subset->ports.count = 1;
	subset->addresses.items = addresses;
	subset->addresses.count = count;
	record->key.name = str_from(slice->name);
	record->created = slice->created;
	record->subsets.items = subset;
	record->subsets.count = 1;
	return record;
}

static struct str describe(struct arena *arena, const struct pool *pool)
{
	struct str text = STR("");
	for (size_t i = 0; i < pool->endpoints.count; i++) {
		const struct pool_endpoint *e = &pool->endpoints.items[i];
		text = arena_printf(arena, "%.*s%s%.*s:%llu%s", STR_FMT(text), i != 0 ? " " : "",
			STR_FMT(e->ip), (unsigned long long)e->port, e->active ? "" : "!");
	}
	return text;
}

static void check(const struct row *row, bool backwards)
{
	const struct endpoints_record *slices[3];
	struct endpoints_summary summary;
	struct arena arena;
	struct pool pool = {0};
	size_t count = 0;
	arena_init(&arena);
	while (count < 3 && row->slices[count].name != NULL)
		count++;
	for (size_t i = 0; i < count; i++)
		slices[i] = record_of(&arena, &row->slices[backwards ? count - 1 - i : i]);
	endpoints_select(&row->port, slices, count, NULL, &arena, &pool, &summary);
	struct str got = describe(&arena, &pool);
	struct str refused = arena_printf(
		&arena, "%.*s%s", STR_FMT(summary.refused_ip), summary.refused_others ? "+" : "");
	if (!str_eq_c(got, row->want) || summary.target_port != row->target ||
		summary.mixed_target_ports != row->mixed ||
		!str_eq(refused, str_from(row->refused != NULL ? row->refused : "")))
		fail_msg("%s: \"%.*s\", target %llu, mixed %d, refused \"%.*s\"", row->name,
			STR_FMT(got), (unsigned long long)summary.target_port,
			summary.mixed_target_ports, STR_FMT(refused));
	arena_fini(&arena);
}

static void endpoints_do_not_depend_on_the_order_given(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		check(&rows[i], false);
		check(&rows[i], true);
	}
}

static void the_number_of_endpoints_is_limited(void **state)
{
	enum { MANY = ENDPOINTS_MAX + 10 };
	struct arena arena;
	struct pool pool = {0};
	struct endpoints_summary summary;
	struct service_port main_port = MAIN;
	struct endpoint_port port = {.name = STR("main"), .port = 1};
	struct endpoint_subset subset = {.ports = {&port, 1}};
	struct endpoints_record record = {.subsets = {&subset, 1}};
	const struct endpoints_record *slices[] = {&record};
	(void)state;
	arena_init(&arena);
	subset.addresses.items = arena_calloc(&arena, MANY, sizeof(struct endpoint_address));
	subset.addresses.count = MANY;
	for (unsigned i = 0; i < MANY; i++)
		subset.addresses.items[i] = (struct endpoint_address){
			.ready = true, .ip = arena_printf(&arena, "10.0.%u.%u", i / 256, i % 256)};
	endpoints_select(&main_port, slices, 1, NULL, &arena, &pool, &summary);
	assert_int_equal(pool.endpoints.count, ENDPOINTS_MAX);
	assert_int_equal(summary.left_out, 10);
	arena_fini(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(endpoints_do_not_depend_on_the_order_given),
		cmocka_unit_test(the_number_of_endpoints_is_limited),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

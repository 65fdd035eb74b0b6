// SPDX-License-Identifier: Apache-2.0
#include "translator/backends.h"

#include "tests/unit/translator/help.h"

struct row {
	const char *name;
	const char *port; /* as in a plan */
	struct service_port ports[3];
	enum service_type type;
	const char *external;
	bool allow;
	bool missing;
	/* wanted: */
	const char *reason;
	uint64_t number;
	const char *port_name;
	uint64_t target;
	enum pool_protocol protocol;
	const char *want_external;
};

static const struct row rows[] = {
	{"by number", "80", {{.name = STR("http"), .port = 80, .target_number = 8080}},
		.number = 80, .port_name = "http", .target = 8080},
	{"by name", "http", {{.name = STR("http"), .port = 80, .target_number = 8080}},
		.number = 80, .port_name = "http", .target = 8080},
	{"a number is no target port", "8080", {{.port = 80, .target_number = 8080}},
		.reason = "ServicePortNotFound"},
	{"a name of digits", "name:80",
		{{.name = STR("x"), .port = 80},
			{.name = STR("80"), .port = 81, .target_number = 9}},
		.number = 81, .port_name = "80", .target = 9},
	{"an unknown name", "web", {{.name = STR("http"), .port = 80}},
		.reason = "ServicePortNotFound"},
	{"no ports at all", "80", .reason = "ServicePortNotFound"},
	{"UDP", "53", {{.name = STR("dns"), .port = 53, .protocol = PROTOCOL_UDP}},
		.reason = "ServicePortNotTCP", .number = 53, .port_name = "dns"},
	{"TCP beside UDP", "53",
		{{.name = STR("u"), .port = 53, .protocol = PROTOCOL_UDP},
			{.name = STR("t"), .port = 53, .target_number = 54}},
		.number = 53, .port_name = "t", .target = 54},
	{"UDP that is asked for", "udp:53",
		{{.name = STR("t"), .port = 53, .target_number = 54},
			{.name = STR("u"), .port = 53, .protocol = PROTOCOL_UDP}},
		.number = 53, .port_name = "u", .protocol = POOL_UDP},
	{"UDP by name", "udp:u", {{.name = STR("u"), .port = 53, .protocol = PROTOCOL_UDP}},
		.number = 53, .port_name = "u", .protocol = POOL_UDP},
	{"TCP in place of UDP", "udp:53", {{.name = STR("t"), .port = 53}},
		.reason = "ServicePortNotUDP", .number = 53, .port_name = "t",
		.protocol = POOL_UDP},
	{"UDP in place of TCP", "tcp:53",
		{{.name = STR("u"), .port = 53, .protocol = PROTOCOL_UDP}},
		.reason = "ServicePortNotTCP", .number = 53, .port_name = "u",
		.protocol = POOL_TCP},
	{"no Service for UDP", "udp:53", .missing = true, .reason = "ServiceNotFound", .number = 53,
		.protocol = POOL_UDP},
	{"no Service", "80", .missing = true, .reason = "ServiceNotFound", .number = 80},
	{"no Service, by name", "http", .missing = true, .reason = "ServiceNotFound",
		.port_name = "http"},
	{"h2c", "80", {{.port = 80, .target_number = 1, .app_protocol = STR("kubernetes.io/h2c")}},
		.number = 80, .target = 1, .protocol = POOL_H2C},
	{"wss", "80", {{.port = 80, .target_number = 1, .app_protocol = STR("kubernetes.io/wss")}},
		.number = 80, .target = 1, .protocol = POOL_HTTPS},
	{"an unknown protocol is HTTP", "80",
		{{.port = 80, .target_number = 1, .app_protocol = STR("redis")}}, .number = 80,
		.target = 1},
	{"ExternalName, not allowed", "80", {{.port = 80}}, SERVICE_EXTERNAL_NAME, "example.org",
		.reason = "ExternalNameRefused", .number = 80},
	{"ExternalName", "80", {{.port = 80, .target_number = 8080}}, SERVICE_EXTERNAL_NAME,
		"Example.ORG.", .allow = true, .number = 80, .target = 8080,
		.want_external = "example.org"},
	{"ExternalName without ports", "8443", {{0}}, SERVICE_EXTERNAL_NAME, "example.org",
		.allow = true, .number = 8443, .target = 8443, .want_external = "example.org"},
	{"localhost", "80", {{.port = 80}}, SERVICE_EXTERNAL_NAME, "localhost", .allow = true,
		.reason = "ExternalNameRefused", .number = 80},
	{"localhost with a dot", "80", {{.port = 80}}, SERVICE_EXTERNAL_NAME, "LocalHost.",
		.allow = true, .reason = "ExternalNameRefused", .number = 80},
	{"below localhost", "80", {{.port = 80}}, SERVICE_EXTERNAL_NAME, "a.localhost",
		.allow = true, .reason = "ExternalNameRefused", .number = 80},
	{"loopback", "80", {{.port = 80}}, SERVICE_EXTERNAL_NAME, "127.0.0.1", .allow = true,
		.reason = "ExternalNameRefused", .number = 80},
	{"an IPv6 address", "80", {{.port = 80}}, SERVICE_EXTERNAL_NAME, "::1", .allow = true,
		.reason = "ExternalNameRefused", .number = 80},
	{"a wildcard", "80", {{.port = 80}}, SERVICE_EXTERNAL_NAME, "*.example.org", .allow = true,
		.reason = "ExternalNameRefused", .number = 80},
	{"nothing", "80", {{.port = 80}}, SERVICE_EXTERNAL_NAME, "", .allow = true,
		.reason = "ExternalNameRefused", .number = 80},
};

static void check(const struct row *row)
{
	struct service_port ports[3];
	size_t count = 0;
	memcpy(ports, row->ports, sizeof(ports));
	while (count < 3 && ports[count].port != 0)
		count++;
	struct service_record service = {.key.uid = STR("u"),
		.type = row->type,
		.external_name = str_from(row->external),
		.ports = {ports, count}};
	struct backend_request request = {.namespace = STR("ns"),
		.service = STR("web"),
		.port = str_from(row->port),
		.record = row->missing ? NULL : &service,
		.allow_external_name = row->allow};
	struct backend_problem problem;
	struct arena arena;
	struct pool pool;
	arena_init(&arena);
	backend_build(&request, &arena, &pool, &problem);
	const char *reason = problem.reason != NULL ? problem.reason : "none";
	/* Nobody has endpoints here, and nobody looks for those of an ExternalName. */
	const char *want = row->reason != NULL                  ? row->reason
			   : row->type == SERVICE_EXTERNAL_NAME ? "none"
								: "NoEndpoints";
	struct str port_name = row->port_name != NULL ? str_from(row->port_name) : STR_NONE;
	struct str external = row->want_external != NULL ? str_from(row->want_external) : STR_NONE;
	if (strcmp(reason, want) != 0 || pool.port != row->number ||
		pool.target_port != row->target || pool.protocol != row->protocol ||
		!str_eq(pool.port_name, port_name) || !str_eq(pool.external_name, external) ||
		str_is_empty(pool.service.uid) != row->missing)
		fail_msg("%s: %s, port %llu \"%.*s\", target %llu, protocol %d, external \"%.*s\"",
			row->name, reason, (unsigned long long)pool.port, STR_FMT(pool.port_name),
			(unsigned long long)pool.target_port, (int)pool.protocol,
			STR_FMT(pool.external_name));
	arena_fini(&arena);
}

static void pools_of_services(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		check(&rows[i]);
}

/* Requests reach an endpoint that is active; others only drain. */
static void endpoints_that_take_requests(void **state)
{
	static const struct {
		bool ready;
		bool serving;
		const char *reason;
	} cases[] = {{true, true, NULL}, {false, true, "NoReadyEndpoints"},
		{false, false, "NoEndpoints"}};
	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct service_port port = {.port = 80, .target_number = 8080};
		struct service_record service = {.key.uid = STR("u"), .ports = {&port, 1}};
		struct endpoint_port target = {.port = 8080};
		struct endpoint_address address = {.ip = STR("10.0.0.1"),
			.ready = cases[i].ready,
			.serving = cases[i].serving};
		struct endpoint_subset subset = {.ports = {&target, 1}, .addresses = {&address, 1}};
		const struct endpoints_record slice = {.subsets = {&subset, 1}};
		const struct endpoints_record *slices[] = {&slice};
		struct backend_request request = {.namespace = STR("ns"),
			.service = STR("web"),
			.port = STR("80"),
			.record = &service,
			.slices = slices,
			.slice_count = 1};
		struct backend_problem problem;
		struct arena arena;
		struct pool pool;
		arena_init(&arena);
		backend_build(&request, &arena, &pool, &problem);
		if (cases[i].reason == NULL) {
			assert_null(problem.reason);
		} else {
			assert_string_equal(problem.reason, cases[i].reason);
			assert_non_null(str_find(problem.text, '5'));
		}
		arena_fini(&arena);
	}
}

static void a_refused_backend_says_nothing_again(void **state)
{
	struct backend_request request = {
		.namespace = STR("ns"), .service = STR(""), .port = STR("none")};
	struct backend_problem problem;
	struct arena arena;
	struct pool pool;
	(void)state;
	arena_init(&arena);
	backend_build(&request, &arena, &pool, &problem);
	assert_null(problem.reason);
	assert_int_equal(pool.endpoints.count, 0);
	arena_fini(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pools_of_services),
		cmocka_unit_test(endpoints_that_take_requests),
		cmocka_unit_test(a_refused_backend_says_nothing_again),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

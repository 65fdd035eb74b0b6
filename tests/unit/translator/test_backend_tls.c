// SPDX-License-Identifier: Apache-2.0
#include "translator/backend_tls.h"

#include "common/cert.h"
#include "tests/unit/authority.h"
#include "tests/unit/translator/help.h"

static struct pool_endpoint endpoint = {.ip = STR("10.0.0.1"), .port = 8443, .active = true};

static const struct str authority = STR(AUTHORITY_PEM);

struct row {
	const char *name;
	struct backend_wish wish;
	enum pool_protocol said; /* by the port */
	bool says_http2;
	bool no_secret;
	const char *content; /* of ca.crt; NULL: a good one */
	/* wanted: */
	const char *reason;
	enum pool_protocol protocol;
	bool http2;
	enum tls_verify verify;
	const char *server_name; /* NULL: no TLS, or nobody is spoken to */
};

static const struct row rows[] = {
	{"nothing is said", .said = POOL_HTTP, .protocol = POOL_HTTP},
	{"the port says h2c", .said = POOL_H2C, .protocol = POOL_H2C},
	{"whom to trust is not said", .said = POOL_HTTPS, .reason = "BackendTLSRefused",
		.protocol = POOL_HTTPS},
	{"unchecked", {.verify = SWITCH_OFF}, POOL_HTTPS, .protocol = POOL_HTTPS,
		.verify = TLS_VERIFY_OFF, .server_name = ""},
	{"unchecked, with a name", {.verify = SWITCH_OFF, .name = STR("a.test")}, POOL_HTTPS,
		.protocol = POOL_HTTPS, .verify = TLS_VERIFY_OFF, .server_name = "a.test"},
	{"the system's", {.verify = SWITCH_ON}, POOL_HTTPS, .protocol = POOL_HTTPS,
		.verify = TLS_VERIFY_SYSTEM, .server_name = "web.ns.svc"},
	{"one's own", {.ca = STR("ca")}, POOL_HTTPS, .protocol = POOL_HTTPS,
		.verify = TLS_VERIFY_CA, .server_name = "web.ns.svc"},
	{"unchecked counts more", {.ca = STR("ca"), .verify = SWITCH_OFF}, POOL_HTTPS,
		.protocol = POOL_HTTPS, .verify = TLS_VERIFY_OFF, .server_name = ""},
	{"no such Secret", {.ca = STR("ca")}, POOL_HTTPS, .no_secret = true,
		.reason = "BackendTLSRefused", .protocol = POOL_HTTPS},
	{"no ca.crt", {.ca = STR("ca")}, POOL_HTTPS, .content = "", .reason = "BackendTLSRefused",
		.protocol = POOL_HTTPS},
	{"ca.crt is none", {.ca = STR("ca")}, POOL_HTTPS, .content = "x",
		.reason = "BackendTLSRefused", .protocol = POOL_HTTPS},
	{"no such client certificate", {.verify = SWITCH_OFF, .client = STR("me")}, POOL_HTTPS,
		.no_secret = true, .reason = "BackendTLSRefused", .protocol = POOL_HTTPS},
	{"a client certificate without key", {.verify = SWITCH_OFF, .client = STR("me")},
		POOL_HTTPS, .reason = "BackendTLSRefused", .protocol = POOL_HTTPS},
	{"https by the Ingress", {.protocol = BACKEND_HTTPS, .verify = SWITCH_ON}, POOL_H2C,
		.protocol = POOL_HTTPS, .server_name = "web.ns.svc"},
	{"gRPC by the Ingress", {.protocol = BACKEND_GRPCS, .verify = SWITCH_ON}, POOL_HTTP,
		.protocol = POOL_HTTPS, .http2 = true, .server_name = "web.ns.svc"},
	{"gRPC by the port", {.verify = SWITCH_ON}, POOL_HTTPS, .says_http2 = true,
		.protocol = POOL_HTTPS, .http2 = true, .server_name = "web.ns.svc"},
	{"the Ingress says less", {.protocol = BACKEND_HTTPS, .verify = SWITCH_ON}, POOL_HTTPS,
		.says_http2 = true, .protocol = POOL_HTTPS, .server_name = "web.ns.svc"},
	{"h2c by the Ingress", {.protocol = BACKEND_H2C}, POOL_HTTPS, .protocol = POOL_H2C},
	{"http by the Ingress", {.protocol = BACKEND_HTTP}, POOL_HTTPS, .protocol = POOL_HTTP},
	{"for nothing", {.ca = STR("ca")}, POOL_HTTP, .reason = "BackendTLSUnused",
		.protocol = POOL_HTTP},
	{"bytes are passed on", {.ca = STR("ca")}, POOL_TCP, .protocol = POOL_TCP},
};

static void check(const struct row *row)
{
	struct pool_tls said = {.http2 = row->says_http2};
	struct secret_record secret = {
		.ca = row->content != NULL ? str_from(row->content) : authority};
	struct pool pool = {
		.service = {.namespace = STR("ns"), .name = STR("web")},
		.protocol = row->said,
		.tls = row->says_http2 ? &said : NULL,
		.endpoints = {&endpoint, 1},
	};
	struct backend_tls_request request = {
		.wish = &row->wish,
		.ca = row->no_secret ? NULL : &secret,
		.client = row->no_secret ? NULL : &secret,
	};
	struct backend_problem problem = {0};
	struct arena arena;
	arena_init(&arena);
	backend_tls_settle(&request, &arena, &pool, &problem);
	bool is_refused = row->reason != NULL && strcmp(row->reason, "BackendTLSRefused") == 0;
	assert_string_equal(problem.reason != NULL ? problem.reason : "none",
		row->reason != NULL ? row->reason : "none");
	assert_int_equal(pool.protocol, row->protocol);
	assert_int_equal(pool.endpoints.count, is_refused ? 0 : 1);
	assert_int_equal(pool.tls != NULL, row->protocol == POOL_HTTPS);
	if (pool.tls != NULL) {
		assert_int_equal(pool.tls->http2, row->http2);
		assert_int_equal(pool.tls->verify, row->verify);
		assert_int_equal(pool.tls->ca.len != 0, row->verify == TLS_VERIFY_CA);
		assert_text(
			pool.tls->server_name, row->server_name != NULL ? row->server_name : "");
	}
	arena_fini(&arena);
}

static void what_is_spoken(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		print_message("%s\n", rows[i].name);
		check(&rows[i]);
	}
}

/* A problem that stood there first is told, unless there were endpoints all the same. */
static void the_worse_problem_is_told(void **state)
{
	static const struct backend_wish nothing = {0};
	struct backend_tls_request request = {.wish = &nothing};
	struct pool pool = {.service = {.name = STR("web")}, .protocol = POOL_HTTPS};
	struct backend_problem problem = {.reason = "ServicePortNotFound"};
	struct arena arena;
	(void)state;
	arena_init(&arena);
	backend_tls_settle(&request, &arena, &pool, &problem);
	assert_string_equal(problem.reason, "ServicePortNotFound");
	pool.endpoints.items = &endpoint;
	pool.endpoints.count = 1;
	problem.reason = "TooManyEndpoints";
	backend_tls_settle(&request, &arena, &pool, &problem);
	assert_string_equal(problem.reason, "BackendTLSRefused");
	arena_fini(&arena);
}

/* Most of it counts only with a Secret that has authorities, and what the provider has not listed does not reach it. */
static void handshakes_are_made_as_is_said(void **state)
{
	const struct backend_terms terms = {.usual_name = STR("usual"),
		.min_version = 12,
		.max_version = 13,
		.max_depth = 2,
		.ciphers = {(struct str[]){STR("AES128-SHA")}, 1}};
	const struct backend_terms named = {.sends_name = true, .usual_name = STR("usual")};
	const struct {
		const struct backend_terms *terms;
		struct str ca; /* of the wish, in place of nobody who is trusted */
		const char *content;
		uint64_t missing;
		/* wanted: */
		const char *server_name;
		bool nameless;
		uint64_t version;
		uint64_t depth;
	} cases[] = {
		{&terms, STR("ca"), AUTHORITY_PEM, 0, "usual", true, 13, 2},
		{&terms, STR_NONE, AUTHORITY_PEM, 0, "", true, 13, 0},
		{&terms, STR_NONE, "", 0, "", true, 0, 0},
		{&named, STR_NONE, "", 0, "usual", false, 0, 0},
		{&terms, STR("ca"), AUTHORITY_PEM, POLICY_BACKEND_TLS_DEPTH, "usual", true, 13, 0},
		{&terms, STR("ca"), AUTHORITY_PEM, POLICY_BACKEND_TLS_TERMS, "web.ns.svc", false, 0,
			2},
	};
	struct arena arena;
	(void)state;
	arena_init(&arena);
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct backend_wish wish = {.ca = cases[i].ca,
			.terms = cases[i].terms,
			.verify = str_is_empty(cases[i].ca) ? SWITCH_OFF : SWITCH_ON};
		struct secret_record secret = {.ca = str_from(cases[i].content)};
		struct pool pool = {.service = {.namespace = STR("ns"), .name = STR("web")},
			.protocol = POOL_HTTPS,
			.endpoints = {&endpoint, 1}};
		struct backend_tls_request request = {
			.wish = &wish, .ca = &secret, .missing = cases[i].missing};
		struct backend_problem problem = {0};
		backend_tls_settle(&request, &arena, &pool, &problem);
		assert_null(problem.reason);
		assert_text(pool.tls->server_name, cases[i].server_name);
		assert_int_equal(pool.tls->nameless, cases[i].nameless);
		assert_int_equal(pool.tls->max_version, cases[i].version);
		assert_int_equal(pool.tls->ciphers.count, cases[i].version != 0 ? 1 : 0);
		assert_int_equal(pool.tls->max_depth, cases[i].depth);
	}
	arena_fini(&arena);
}

static void only_certificates_are_taken_from_a_ca(void **state)
{
	struct arena arena;
	struct str pem = STR_NONE;
	(void)state;
	arena_init(&arena);
	struct str text = arena_printf(&arena, "# a comment\n%.*s\n\n# another\n%.*s",
		STR_FMT(authority), STR_FMT(authority));
	assert_null(cert_authorities(text, &arena, &pem));
	struct str twice = arena_printf(&arena, "%.*s%.*s", STR_FMT(authority), STR_FMT(authority));
	assert_true(str_eq(pem, twice));
	struct str broken =
		arena_printf(&arena, "%.*s-----BEGIN CERTIFICATE-----\nAAAA\n", STR_FMT(authority));
	assert_non_null(cert_authorities(broken, &arena, &pem));
	arena_fini(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_spoken),
		cmocka_unit_test(the_worse_problem_is_told),
		cmocka_unit_test(handshakes_are_made_as_is_said),
		cmocka_unit_test(only_certificates_are_taken_from_a_ca),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

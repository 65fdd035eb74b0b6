// SPDX-License-Identifier: Apache-2.0
#include "provider-proxy/trust.h"
#include "tests/unit/authority.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

static const struct str authority = STR(AUTHORITY_PEM);
static const struct str key = STR(AUTHORITY_KEY_PEM);

static void what_is_different_has_another_name(void **state)
{
	struct pool_tls one = {
		.verify = TLS_VERIFY_CA, .ca = authority, .server_name = STR("a.test")};
	struct pool_tls other = one;
	struct trust first;
	struct trust second;
	(void)state;
	assert_null(trust_of(&one, &first));
	assert_null(trust_of(&other, &second));
	assert_memory_equal(&first, &second, sizeof(first));
	assert_int_equal(first.ca.text[0], NAME_AUTHORITY);
	assert_int_equal(first.client.text[0], 0);
	other.server_name = STR("b.test");
	assert_null(trust_of(&other, &second));
	assert_string_equal(first.ca.text, second.ca.text);
	assert_string_not_equal(first.whole.text, second.whole.text);
	other = one;
	other.http2 = true;
	assert_null(trust_of(&other, &second));
	assert_string_not_equal(first.whole.text, second.whole.text);
	other = one;
	other.client_chain = authority;
	other.client_key = key;
	assert_null(trust_of(&other, &second));
	assert_int_equal(second.client.text[0], NAME_CLIENT);
	assert_string_not_equal(first.whole.text, second.whole.text);
	const struct pool_tls terms[] = {{.nameless = true}, {.min_version = 12},
		{.max_version = 13}, {.max_depth = 1},
		{.ciphers = {(struct str[]){STR("AES128-SHA")}, 1}}};
	for (size_t i = 0; i < sizeof(terms) / sizeof(terms[0]); i++) {
		other = terms[i];
		other.verify = TLS_VERIFY_CA;
		other.ca = authority;
		other.server_name = one.server_name;
		assert_null(trust_of(&other, &second));
		assert_string_equal(first.ca.text, second.ca.text);
		assert_string_not_equal(first.whole.text, second.whole.text);
	}
	other = one;
	other.verify = TLS_VERIFY_SYSTEM;
	assert_null(trust_of(&other, &second));
	assert_int_equal(second.ca.text[0], 0);
	assert_string_not_equal(first.whole.text, second.whole.text);
}

static void what_cannot_be_used_is_refused(void **state)
{
	static const struct str garbage =
		STR("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
	const struct pool_tls rows[] = {
		{.verify = TLS_VERIFY_SYSTEM},
		{.verify = TLS_VERIFY_SYSTEM, .server_name = STR("a b")},
		{.verify = TLS_VERIFY_OFF, .server_name = STR("a.test;x")},
		{.verify = TLS_VERIFY_CA, .server_name = STR("a.test")},
		{.verify = TLS_VERIFY_CA, .server_name = STR("a.test"), .ca = STR("x")},
		{.verify = TLS_VERIFY_CA, .server_name = STR("a.test"), .ca = garbage},
		{.verify = TLS_VERIFY_OFF, .min_version = 11},
		{.verify = TLS_VERIFY_OFF, .max_version = 1},
		{.verify = TLS_VERIFY_OFF, .min_version = 13, .max_version = 12},
		{.verify = TLS_VERIFY_OFF, .ciphers = {(struct str[]){STR("NOBODY-KNOWS-IT")}, 1}},
		{.verify = TLS_VERIFY_OFF, .ciphers = {(struct str[]){STR("AES128-SHA;x")}, 1}},
		{.verify = TLS_VERIFY_OFF, .client_key = key},
		{.verify = TLS_VERIFY_OFF, .client_chain = garbage, .client_key = key},
		{.verify = TLS_VERIFY_OFF, .client_chain = authority, .client_key = STR("x")},
	};
	struct trust trust = {0};
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_non_null(trust_of(&rows[i], &trust));
		assert_int_equal(trust.whole.text[0], 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_different_has_another_name),
		cmocka_unit_test(what_cannot_be_used_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

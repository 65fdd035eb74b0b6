// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/acm.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#define LEAF   "-----BEGIN CERTIFICATE-----\nbGVhZg==\n-----END CERTIFICATE-----"
#define INTER  "-----BEGIN CERTIFICATE-----\naW50ZXI=\n-----END CERTIFICATE-----"
#define ROOT   "-----BEGIN CERTIFICATE-----\ncm9vdA==\n-----END CERTIFICATE-----"
#define CURVE  "-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----"
#define KEY    "-----BEGIN PRIVATE KEY-----\na2V5\n-----END PRIVATE KEY-----"
#define EC_KEY "-----BEGIN EC PRIVATE KEY-----\na2V5\n-----END EC PRIVATE KEY-----"

#define ARN "arn:aws:acm:us-east-1:123456789012:certificate/a3e6e28d"

static void splits_pem(void **state)
{
	static const struct {
		const char *name;
		const char *chain;
		const char *key;
		const char *want_problem;
		const char *want_leaf;
		const char *want_chain;
		const char *want_key;
	} rows[] = {
		{"a leaf alone", LEAF "\n", KEY "\n", NULL, LEAF, "", KEY},
		{"a chain", LEAF "\n" INTER "\n" ROOT "\n", KEY, NULL, LEAF, INTER "\n" ROOT, KEY},
		{"line ends of Windows", LEAF "\r\n" INTER "\r\n", KEY "\r\n", NULL, LEAF, INTER,
			KEY},
		{"text before", "subject=x\n" LEAF, "x\n" KEY, NULL, LEAF, "", KEY},
		{"a curve before the key", LEAF, CURVE "\n" EC_KEY "\n", NULL, LEAF, "", EC_KEY},
		{"a certificate behind the key", LEAF, KEY "\n" LEAF, NULL, LEAF, "", KEY},
		{"no certificate", KEY, KEY, "has no certificate", NULL, NULL, NULL},
		{"no key", LEAF, LEAF, "has no private key", NULL, NULL, NULL},
		{"nothing", "", "", "has no certificate", NULL, NULL, NULL},
		{"half a block", "-----BEGIN CERTIFICATE-----\nbGVh", KEY, "has no certificate",
			NULL, NULL, NULL},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct acm_parts parts = {0};
		const char *problem =
			acm_split(str_from(rows[i].chain), str_from(rows[i].key), &parts);
		print_message("%s\n", rows[i].name);
		if (rows[i].want_problem != NULL) {
			assert_string_equal(problem, rows[i].want_problem);
			continue;
		}
		assert_null(problem);
		assert_true(str_eq_c(parts.leaf, rows[i].want_leaf));
		assert_true(str_eq_c(parts.chain, rows[i].want_chain));
		assert_true(str_eq_c(parts.key, rows[i].want_key));
	}
}

static char *long_block(const char *label, size_t len)
{
	char *text = malloc(len + 100);
	int head = sprintf(text, "-----BEGIN %s-----\n", label);
	memset(text + head, 'A', len);
	sprintf(text + head + len, "\n-----END %s-----\n", label);
	return text;
}

static void refuses_what_acm_would_refuse_for_its_length(void **state)
{
	(void)state;
	struct acm_parts parts;
	char *leaf = long_block("CERTIFICATE", ACM_CERTIFICATE_LEN_MAX);
	char *key = long_block("RSA PRIVATE KEY", ACM_KEY_LEN_MAX);
	char *inter = long_block("CERTIFICATE", ACM_CHAIN_LEN_MAX);
	char *chain = malloc(strlen(inter) + sizeof(LEAF));
	sprintf(chain, "%s%s", LEAF, inter);
	assert_string_equal(acm_split(str_from(leaf), STR(KEY), &parts),
		"has a certificate of more than 32768 bytes");
	assert_string_equal(acm_split(STR(LEAF), str_from(key), &parts),
		"has a private key of more than 5120 bytes");
	assert_string_equal(
		acm_split(str_from(chain), STR(KEY), &parts), "has a chain of more than 2 MiB");
	free(leaf);
	free(key);
	free(inter);
	free(chain);
}

static struct acm_content content_of(const char *chain, const char *key)
{
	struct acm_parts parts;
	assert_null(acm_split(str_from(chain), str_from(key), &parts));
	return acm_content_of(&parts);
}

static void tells_contents_apart(void **state)
{
	(void)state;
	char text[ACM_CONTENT_LEN + 1];
	struct acm_content a = content_of(LEAF, KEY);
	struct acm_content spaced = content_of("\n" LEAF "\r\n\n", KEY "\n");
	struct acm_content longer = content_of(LEAF "\n" INTER, KEY);
	struct acm_content other = content_of(INTER, KEY);
	assert_true(acm_content_eq(&a, &spaced));
	assert_false(acm_content_eq(&a, &longer));
	assert_int_equal(a.leaf, longer.leaf);
	assert_int_not_equal(a.leaf, other.leaf);
	acm_content_text(&longer, text);
	assert_int_equal(strlen(text), ACM_CONTENT_LEN);
	struct acm_content again = acm_content_parse(str_from(text));
	assert_true(acm_content_eq(&longer, &again));
}

static void reads_no_content_from_other_tags(void **state)
{
	static const char *const rows[] = {"", "changing", "0123456789abcdef",
		"0123456789abcdef-0123456789abcdeF", "0123456789abcdef-0123456789abcde",
		"0123456789abcdef 0123456789abcdef"};
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct acm_content content = acm_content_parse(str_from(rows[i]));
		assert_int_equal(content.leaf, 0);
		assert_int_equal(content.chain, 0);
	}
	assert_int_equal(acm_content_parse(STR_NONE).leaf, 0);
}

static void assert_body(struct buf *body, const char *want)
{
	assert_true(str_eq_c(buf_str(body), want));
	buf_fini(body);
	buf_init(body, ACM_BODY_LEN_MAX);
}

static void writes_bodies(void **state)
{
	(void)state;
	static const struct acm_tags tags = {.cluster = {"demo", 4},
		.identity = {"certificate/shop/\"tls", 21},
		.owner = {"shop/tls", 8},
		.applied = {"changing", 8}};
	static const struct acm_parts alone = {
		.leaf = {"leaf", 4}, .chain = {"", 0}, .key = {"key", 3}};
	static const struct acm_parts chain = {
		.leaf = {"leaf", 4}, .chain = {"inter", 5}, .key = {"key", 3}};
	struct buf body;
	buf_init(&body, ACM_BODY_LEN_MAX);
#define TAGS                                                                       \
	"\"Tags\":[{\"Key\":\"sluice.io/cluster\",\"Value\":\"demo\"},"            \
	"{\"Key\":\"sluice.io/resource\",\"Value\":\"certificate/shop/\\\"tls\"}," \
	"{\"Key\":\"sluice.io/owner\",\"Value\":\"shop/tls\"},"                    \
	"{\"Key\":\"sluice.io/applied\",\"Value\":\"changing\"}]"
	acm_put_import(&body, &alone, STR_NONE, &tags);
	assert_body(&body, "{\"Certificate\":\"bGVhZg==\",\"PrivateKey\":\"a2V5\"," TAGS "}");
	acm_put_import(&body, &chain, STR(ARN), &tags);
	assert_body(&body, "{\"Certificate\":\"bGVhZg==\",\"PrivateKey\":\"a2V5\","
			   "\"CertificateChain\":\"aW50ZXI=\",\"CertificateArn\":\"" ARN "\"}");
	acm_put_tags(&body, STR(ARN), &tags);
	assert_body(&body, "{\"CertificateArn\":\"" ARN "\"," TAGS "}");
	acm_put_arn(&body, STR(ARN));
	assert_body(&body, "{\"CertificateArn\":\"" ARN "\"}");
#define KINDS                                                                                    \
	"{\"MaxItems\":1000,\"Includes\":{\"keyTypes\":[\"RSA_1024\",\"RSA_2048\",\"RSA_3072\"," \
	"\"RSA_4096\",\"EC_prime256v1\",\"EC_secp384r1\",\"EC_secp521r1\"]}"
	acm_put_list(&body, STR_NONE);
	assert_body(&body, KINDS "}");
	acm_put_list(&body, STR("next=="));
	assert_body(&body, KINDS ",\"NextToken\":\"next==\"}");
	buf_fini(&body);
}

static void knows_arns(void **state)
{
	static const struct {
		const char *in;
		bool want;
	} rows[] = {
		{ARN, true},
		{"arn:aws-cn:acm:cn-north-1:1:certificate/x", true},
		{"arn:aws:acm:us-east-1:1:certificate/", false},
		{"arn:aws:acm:us-east-1:1:x/y", false},
		{"arn:aws:iam::1:server-certificate/x", false},
		{"arn:aws:elasticloadbalancing:us-east-1:1:certificate/x", false},
		{"acm", false},
		{"", false},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(acm_is_arn(str_from(rows[i].in)), rows[i].want);
}

static struct json *parse(const char *text)
{
	struct json *document = json_parse(str_from(text), NULL, NULL);
	assert_non_null(document);
	return document;
}

static void reads_a_certificate(void **state)
{
	(void)state;
	struct acm_certificate there;
	struct json *answer = parse("{\"Certificate\":{\"CertificateArn\":\"" ARN
				    "\",\"Serial\":\"09:A8:01\",\"NotAfter\":1797822072.25}}");
	assert_true(acm_read_certificate(answer, &there));
	assert_true(str_eq(there.arn, STR(ARN)));
	assert_true(str_eq(there.serial, STR("09:A8:01")));
	assert_int_equal(there.not_after, 1797822072);
	json_free(answer);
	answer = parse("{\"Certificate\":{\"CertificateArn\":\"" ARN "\"}}");
	assert_true(acm_read_certificate(answer, &there));
	assert_int_equal(there.not_after, -1);
	json_free(answer);
	answer = parse("{\"Certificate\":{\"Serial\":\"01\"}}");
	assert_false(acm_read_certificate(answer, &there));
	json_free(answer);
	assert_false(acm_read_certificate(NULL, &there));
}

static void reads_a_list(void **state)
{
	(void)state;
	const struct json *row = NULL;
	struct acm_certificate there;
	struct str token = STR_NONE;
	struct json *answer =
		parse("{\"CertificateSummaryList\":[{\"CertificateArn\":\"" ARN
		      "\",\"NotAfter\":5},{\"DomainName\":\"x\"}],\"NextToken\":\"n\"}");
	assert_true(acm_read_list(answer, &row, &token));
	assert_true(str_eq(token, STR("n")));
	assert_true(acm_read_summary(row, &there));
	assert_int_equal(there.not_after, 5);
	assert_false(acm_read_summary(json_next(row), &there));
	json_free(answer);
	answer = parse("{\"CertificateSummaryList\":[]}");
	assert_true(acm_read_list(answer, &row, &token));
	assert_null(row);
	assert_null(token.p);
	json_free(answer);
	answer = parse("{}");
	assert_false(acm_read_list(answer, &row, &token));
	json_free(answer);
}

static void reads_tags(void **state)
{
	(void)state;
	struct acm_tags tags;
	struct json *answer =
		parse("{\"Tags\":[{\"Key\":\"sluice.io/cluster\",\"Value\":\"demo\"},"
		      "{\"Key\":\"x\",\"Value\":\"y\"},{\"Key\":\"sluice.io/resource\","
		      "\"Value\":\"certificate/a\"}]}");
	acm_read_tags(answer, &tags);
	assert_true(str_eq(tags.cluster, STR("demo")));
	assert_true(str_eq(tags.identity, STR("certificate/a")));
	assert_null(tags.applied.p);
	json_free(answer);
	acm_read_tags(NULL, &tags);
	assert_null(tags.cluster.p);
}

static void compares_serial_numbers(void **state)
{
	static const struct {
		const char *in;
		const char *ours;
		bool want;
	} rows[] = {
		{"09:a8:01", "9a801", true},
		{"09:A8:01", "9a801", true},
		{"9a801", "9a801", true},
		{"00:9a:80", "9a80", true},
		{"09:a8", "9a801", false},
		{"09:a8:01:02", "9a801", false},
		{"00", "0", true},
		{"-0a", "-a", true},
		{"", "0", false},
		{"", "", false},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(
			acm_serial_eq(str_from(rows[i].in), str_from(rows[i].ours)), rows[i].want);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(splits_pem),
		cmocka_unit_test(refuses_what_acm_would_refuse_for_its_length),
		cmocka_unit_test(tells_contents_apart),
		cmocka_unit_test(reads_no_content_from_other_tags),
		cmocka_unit_test(writes_bodies),
		cmocka_unit_test(knows_arns),
		cmocka_unit_test(reads_a_certificate),
		cmocka_unit_test(reads_a_list),
		cmocka_unit_test(reads_tags),
		cmocka_unit_test(compares_serial_numbers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

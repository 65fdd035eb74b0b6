// SPDX-License-Identifier: Apache-2.0
#include "common/json.h"

#include "common/process_metrics.h"
#include "common/xalloc.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

/* From a block of exactly its size, so that a look behind the end is found by the sanitizer. */
static struct json *parse(struct str text, const char **ret_problem, size_t *ret_at)
{
	char *exact = xmemdup(text.p, text.len);
	struct json *document = json_parse((struct str){exact, text.len}, ret_problem, ret_at);
	free(exact);
	return document;
}

static struct json *parse_good(const char *text)
{
	const char *problem = NULL;
	struct json *document = parse(str_from(text), &problem, NULL);
	if (document == NULL)
		fail_msg("%s: %s", text, problem);
	return document;
}

static void assert_prints(const struct json *value, const char *want)
{
	struct buf out;
	buf_init(&out, 1 << 20);
	assert_int_equal(json_print(value, &out), 0);
	assert_int_equal(buf_append(&out, "", 1), 0);
	assert_string_equal((const char *)buf_data(&out), want);
	buf_fini(&out);
}

static void reads_documents(void **state)
{
	(void)state;
	static const struct {
		const char *in;
		const char *want;
	} rows[] = {
		{" {} ", "{}"},
		{"[]\r\n\t", "[]"},
		{"null", "null"},
		{"\"\"", "\"\""},
		{"{\"a\":1,\"A\":true,\"b\":[null,false,\"x\"],\"c\":{\"d\":-1.5e-3}}",
			"{\"a\":1,\"A\":true,\"b\":[null,false,\"x\"],\"c\":{\"d\":-0.0015}}"},
		{"\"\\u003ca\\u0026b\\u003e\"", "\"<a&b>\""},
		{"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u001f\\u007f\"",
			"\"\\\"\\\\/\\b\\f\\n\\r\\t\\u001f\x7f\""},
		{"\"\\ud83d\\uDE00 \xf0\x9f\x98\x80\"", "\"\xf0\x9f\x98\x80 \xf0\x9f\x98\x80\""},
		{"\"a\\u0000b\"", "\"a\xef\xbf\xbd"
				  "b\""},
		{"{\"k\\u0000\":1}", "{\"k\xef\xbf\xbd\":1}"},
		{"\"\\\\u0000\"", "\"\\\\u0000\""},
		{"\"\\ud800 \\udc00\\ud800\\u0041\"", "\"\xef\xbf\xbd \xef\xbf\xbd\xef\xbf\xbd"
						      "A\""},
		{"[0,-0,9007199254740991,-9007199254740991,1e3,1.0,0.1,1e15,123456789012345678]",
			"[0,0,9007199254740991,-9007199254740991,1000,1,0.1,1000000000000000,"
			"1.2345678901234568e+17]"},
		{"\xef\xbb\xbf[1]", "[1]"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct json *document = parse_good(rows[i].in);
		assert_prints(document, rows[i].want);
		json_free_wiped(document);
	}
}

static void refuses_what_is_no_document(void **state)
{
	(void)state;
	static const struct {
		const char *in;
		const char *problem;
		size_t at;
	} rows[] = {
		{"", "the text is empty", 0},
		{"  ", "the text is no JSON", 1},
		{"{} {}", "text follows the document", 2},
		{"1,", "text follows the document", 1},
		{"nullx", "text follows the document", 4},
		{"{\"a\":1", "the text ends too early", 6},
		{"{\"a\":1,", "the text ends too early", 7},
		{"\"a", "the text ends within a string", 2},
		{"\"a\\", "an escape is malformed", 2},
		{"}", "a bracket is closed that was not opened", 0},
		{"[1,]", "the text is no JSON", 3},
		{"{\"a\":1,}", "the text is no JSON", 7},
		{"{\"a\" 1}", "the text is no JSON", 5},
		{"{a:1}", "the text is no JSON", 2},
		{"[}", "the text is no JSON", 1},
		{"tru", "the text is no JSON", 0},
		{"[01]", "a number is malformed", 1},
		{"[1.]", "a number is malformed", 1},
		{"[-]", "a number is malformed", 1},
		{"[1e]", "a number is malformed", 1},
		{"[1e999]", "a number is out of range", 7},
		{"[0.1234567890123456789012345678901234567890123456789012345678901234567890]",
			"a number is too long", 1},
		{"[NaN]", "the text is no JSON", 1},
		{"\"\\u00zz\"", "an escape is malformed", 1},
		{"\"\\u12", "an escape is malformed", 1},
		{"\"\\x41\"", "an escape is malformed", 1},
		{"\"a\nb\"", "a control character stands in a string", 2},
		{"[\x01]", "a control character stands between the values", 1},
		{"\"\xff\"", "a string is no UTF-8", 1},
		{"\"\xed\xa0\x80\"", "a string is no UTF-8", 1},
		{"\"\xc3", "a string is no UTF-8", 1},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *problem = NULL;
		size_t at = SIZE_MAX;
		struct json *document = parse(str_from(rows[i].in), &problem, &at);
		if (document != NULL)
			fail_msg("accepted: %s", rows[i].in);
		if (strcmp(problem, rows[i].problem) != 0 || at != rows[i].at)
			fail_msg("%s: \"%s\" at %zu", rows[i].in, problem, at);
	}
	const char *problem = NULL;
	assert_null(json_parse((struct str){"[1,\0 2]", 7}, &problem, NULL));
	assert_null(json_parse((struct str){"\"a\0b\"", 5}, &problem, NULL));
	assert_null(json_parse(STR_NONE, &problem, NULL));
	assert_null(json_parse(STR("["), NULL, NULL));
}

/* As Rancher's server sends each setting, and what somebody else may. */
static void of_equal_names_the_last_is_taken(void **state)
{
	(void)state;
	static const struct {
		const char *in;
		const char *want;
		double dropped;
	} rows[] = {
		{"{\"id\":\"lb.instance.image\",\"baseType\":\"activeSetting\",\"value\":\"i\","
		 "\"baseType\":\"setting\"}",
			"{\"id\":\"lb.instance.image\",\"value\":\"i\",\"baseType\":\"setting\"}",
			1},
		{"{\"a\":1,\"A\":2,\"a\":3}", "{\"A\":2,\"a\":3}", 1},
		{"{\"a\":1,\"a\":2,\"a\":null}", "{\"a\":null}", 2},
		{"[{\"x\":{\"a\":{\"b\":1},\"\\u0061\":2}}]", "[{\"x\":{\"a\":2}}]", 1},
		{"{\"a\":{\"b\":1,\"b\":2},\"a\":{\"c\":3,\"c\":4}}", "{\"a\":{\"c\":4}}", 2},
		{"{\"\":1,\"\":2}", "{\"\":2}", 1},
		{"{\"c\":0,\"a\":1,\"b\":2,\"d\":3,\"e\":4,\"f\":5,\"g\":6,\"h\":7,\"i\":8,\"j\":9,"
		 "\"k\":10,\"c\":11,\"l\":12,\"a\":13,\"c\":14}",
			"{\"b\":2,\"d\":3,\"e\":4,\"f\":5,\"g\":6,\"h\":7,\"i\":8,\"j\":9,"
			"\"k\":10,\"l\":12,\"a\":13,\"c\":14}",
			3},
		{"{\"a\":1,\"b\":1}", "{\"a\":1,\"b\":1}", 0},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		double before = common_metrics[METRIC_JSON_DUPLICATES].values[0];
		const char *problem = NULL;
		struct json *document = parse_good(rows[i].in);
		assert_prints(document, rows[i].want);
		json_free_wiped(document);
		assert_true(common_metrics[METRIC_JSON_DUPLICATES].values[0] ==
			    before + rows[i].dropped);
		document = json_parse_strict(str_from(rows[i].in), &problem, NULL);
		assert_int_equal(document != NULL, rows[i].dropped == 0);
		if (document == NULL)
			assert_string_equal(problem, "an object has the same name twice");
		json_free(document);
	}
}

static void refuses_what_is_torn(void **state)
{
	static const char *const rows[] = {
		"{\"text\":",
		"{\"text\":}",
		"{\"text\":,\"a\":1}",
		"{\"text\":\"abcd\"",
		"{\"text\":\"abcd",
		"{\"text\":\"abcd\" \"e\"}",
		"{\"text\":\"abc\x01\"}",
		"{\"text\":[\"\xff\"]}",
		"{\"text\":[1,2}",
		"{\"text\":[[[[[",
		"{\"text\":[01,2]}",
		"{\"text\"::\"abcd\"}",
		"\"text\":\"abcd\"",
		":\"abcd\"",
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *problem = NULL;
		if (parse(str_from(rows[i]), &problem, NULL) != NULL)
			fail_msg("accepted: %s", rows[i]);
		assert_non_null(problem);
	}
}

static char *nested(size_t depth)
{
	char *text = xcalloc(depth + 1, 2);
	memset(text, '[', depth);
	memset(text + depth, ']', depth);
	return text;
}

static void bounds_depth_and_values(void **state)
{
	(void)state;
	const char *problem = NULL;
	size_t at = 0;
	char *text = nested(JSON_DEPTH_MAX);
	json_free(parse_good(text));
	free(text);
	text = nested(1000 * 1000);
	assert_null(json_parse(str_from(text), &problem, &at));
	assert_string_equal(problem, "the text nests too deep");
	assert_int_equal(at, JSON_DEPTH_MAX);
	free(text);
	size_t len = 10 * 1000 * 1000;
	text = xmalloc(len);
	for (size_t i = 0; i < len; i += 2)
		memcpy(text + i, "0,", 2);
	text[0] = '[';
	text[len - 1] = ']';
	assert_null(json_parse((struct str){text, len}, &problem, &at));
	assert_string_equal(problem, "the text holds too many values");
	free(text);
}

/* Small documents share memory that is used again: none may be disturbed by the others, in whatever order they go. */
static void documents_live_side_by_side(void **state)
{
	enum { DOCUMENTS = 300, ITEMS = 40 };
	struct json *documents[DOCUMENTS];
	struct buf text;
	(void)state;
	buf_init(&text, 1 << 20);
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < DOCUMENTS; i++) {
			buf_clear(&text);
			for (int j = 0; j < ITEMS; j++)
				assert_int_equal(buf_printf(&text, "%s\"%d of %d\"",
							 j == 0 ? "[" : ",", j, i),
					0);
			assert_int_equal(buf_append(&text, "]", 1), 0);
			documents[i] = json_parse(buf_str(&text), NULL, NULL);
			assert_non_null(documents[i]);
			/* One that comes and goes meanwhile. */
			json_free(parse_good("{\"a\":[1,2,{\"b\":\"c\"}]}"));
		}
		for (int i = 0; i < DOCUMENTS; i++) {
			int at = round == 0   ? i
				 : round == 1 ? DOCUMENTS - 1 - i
					      : (i * 7) % DOCUMENTS;
			char want[32];
			int j = 0;
			for (const struct json *c = json_first(documents[at]); c != NULL;
				c = json_next(c)) {
				snprintf(want, sizeof(want), "%d of %d", j++, at);
				assert_true(str_eq_c(json_text(c), want));
			}
			assert_int_equal(j, ITEMS);
			json_free(documents[at]);
		}
	}
	buf_fini(&text);
}

/* With each name compared to each other one this would take minutes. */
static void large_objects_cost_little(void **state)
{
	(void)state;
	const long MEMBERS = 100 * 1000;
	struct buf text;
	const char *problem = NULL;
	buf_init(&text, 64 << 20);
	for (long i = 0; i < MEMBERS; i++)
		assert_int_equal(buf_printf(&text, "%s\"a long common beginning %ld\":0",
					 i == 0 ? "{" : ",", (i * 7919) % MEMBERS),
			0);
	assert_int_equal(buf_append(&text, "}", 1), 0);
	struct json *document = json_parse(buf_str(&text), &problem, NULL);
	assert_non_null(document);
	assert_int_equal(json_count(document), MEMBERS);
	json_free(document);
	buf_cut(&text, buf_len(&text) - 1);
	assert_int_equal(buf_printf(&text, ",\"a long common beginning 77\":0}"), 0);
	document = json_parse(buf_str(&text), &problem, NULL);
	assert_int_equal(json_count(document), MEMBERS);
	json_free(document);
	assert_null(json_parse_strict(buf_str(&text), &problem, NULL));
	assert_string_equal(problem, "an object has the same name twice");
	buf_fini(&text);
}

static void finds_members_by_exact_name(void **state)
{
	(void)state;
	struct json *document = parse_good(
		"{\"Host\":\"no\",\"host\":\"yes\",\"m\":{\"n\":{\"o\":[1,2]}},\"nil\":null}");
	struct str text;
	assert_true(json_get_str(document, "host", &text));
	assert_true(str_eq_c(text, "yes"));
	assert_null(json_get(document, "HOST"));
	assert_null(json_get(json_get(document, "host"), "x"));
	assert_null(json_get(NULL, "x"));
	assert_true(json_is_array(json_path(document, "m", "n", "o", NULL)));
	assert_null(json_path(document, "m", "x", "o", NULL));
	assert_ptr_equal(json_path(document, NULL), document);
	assert_null(json_path(NULL, "m", NULL));
	assert_true(json_is_absent(json_get(document, "nil")));
	assert_false(json_is_absent(json_get(document, "m")));
	assert_int_equal(json_count(document), 4);
	assert_int_equal(json_count(json_path(document, "m", "n", "o", NULL)), 2);
	assert_int_equal(json_count(json_get(document, "host")), 0);
	assert_null(json_first(json_get(document, "host")));
	const struct json *child = json_first(document);
	assert_true(str_eq_c(json_name(child), "Host"));
	assert_true(str_eq_c(json_name(json_next(child)), "host"));
	json_free(document);
}

static void getters_know_absent_from_wrong(void **state)
{
	(void)state;
	struct json *document = parse_good("{\"s\":\"x\",\"e\":\"\",\"n\":5,\"t\":true,\"nil\":"
					   "null,\"half\":0.5,\"a\":[]}");
	struct str text = STR("before");
	bool flag = false;
	int64_t number = 7;
	assert_false(json_get_str(document, "n", &text));
	assert_true(str_eq_c(text, "before"));
	assert_true(json_get_str(document, "e", &text));
	assert_non_null(text.p);
	assert_int_equal(text.len, 0);
	assert_true(json_get_str(document, "nil", &text));
	assert_null(text.p);
	assert_true(json_get_str(document, "none", &text));
	assert_null(text.p);
	assert_true(json_get_bool(document, "none", true, &flag));
	assert_true(flag);
	assert_true(json_get_bool(document, "t", false, &flag));
	assert_true(flag);
	assert_false(json_get_bool(document, "n", false, &flag));
	assert_true(json_get_int(document, "n", 1, 10, 3, &number));
	assert_int_equal(number, 5);
	assert_true(json_get_int(document, "nil", 1, 10, 3, &number));
	assert_int_equal(number, 3);
	assert_false(json_get_int(document, "n", 6, 10, 3, &number));
	assert_false(json_get_int(document, "half", 0, 10, 3, &number));
	assert_false(json_get_int(document, "s", 0, 10, 3, &number));
	assert_int_equal(number, 3);
	assert_true(json_bool(json_get(document, "none"), true));
	assert_null(json_text(json_get(document, "a")).p);
	assert_true(isnan(json_number(NULL)));
	json_free(document);
}

static void whole_numbers_are_exact_or_refused(void **state)
{
	(void)state;
	static const struct {
		const char *in;
		bool good;
		int64_t want;
	} rows[] = {
		{"0", true, 0},
		{"-0", true, 0},
		{"2147483648", true, INT64_C(2147483648)},
		{"9007199254740991", true, INT64_C(9007199254740991)},
		{"-9007199254740991", true, INT64_C(-9007199254740991)},
		{"9007199254740992", false, 0},
		{"9007199254740993", false, 0},
		{"18446744073709551617", false, 0},
		{"1e300", false, 0},
		{"1.25", false, 0},
		{"true", false, 0},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct json *document = parse_good(rows[i].in);
		int64_t got = 1;
		bool good = json_whole_number(document, INT64_MIN, INT64_MAX, &got);
		if (good != rows[i].good || (good && got != rows[i].want))
			fail_msg("%s: %d %lld", rows[i].in, good, (long long)got);
		json_free(document);
	}
}

static void builds_documents(void **state)
{
	(void)state;
	struct json *document = json_new_object();
	json_add_str(document, "s", (struct str){"abc\0d\xff", 6});
	json_add_str(document, "none", STR_NONE);
	json_add_int(document, "n", JSON_INT_MAX);
	json_add_bool(document, "t", true);
	struct json *array = json_add_array(document, "a");
	json_add_int(json_push_object(array), "x", -1);
	json_push_str(array, STR("y"));
	json_add_str(json_add_object(document, "o"), "k", STR("v"));
	json_add_copy(document, "copy", json_get(document, "o"));
	json_add_copy(document, "absent", json_get(document, "nothing"));
	assert_prints(document,
		"{\"s\":\"abc\xef\xbf\xbd"
		"d\xef\xbf\xbd\",\"none\":\"\",\"n\":9007199254740991,\"t\":true,"
		"\"a\":[{\"x\":-1},\"y\"],\"o\":{\"k\":\"v\"},\"copy\":{\"k\":\"v\"}}");
	json_set_copy(document, "s", NULL);
	json_set_copy(document, "not there", NULL);
	json_set_copy(document, "a", NULL);
	json_set_copy(document, "none", NULL);
	json_set_copy(document, "o", json_path(document, "o", "k", NULL));
	json_set_copy(document, "new", json_get(document, "t"));
	assert_prints(document, "{\"n\":9007199254740991,\"t\":true,\"o\":\"v\","
				"\"copy\":{\"k\":\"v\"},\"new\":true}");
	json_free_wiped(document);
	document = json_new_array();
	assert_prints(document, "[]");
	json_free(document);
	json_free(NULL);
	json_free_wiped(NULL);
}

static void prints_within_the_ceiling_or_nothing(void **state)
{
	(void)state;
	struct json *document = parse_good("{\"a\":[1,2.5,\"x\\ny\"],\"b\":null}");
	static const char WANT[] = "before{\"a\":[1,2.5,\"x\\ny\"],\"b\":null}";
	for (size_t max = 6; max < sizeof(WANT) + 8; max++) {
		struct buf out;
		buf_init(&out, max);
		assert_int_equal(buf_append(&out, "before", 6), 0);
		int err = json_print(document, &out);
		if (err == 0)
			assert_true(str_eq_c(buf_str(&out), WANT));
		else
			assert_true(str_eq_c(buf_str(&out), "before"));
		assert_int_equal(err, max < sizeof(WANT) - 1 ? -EMSGSIZE : 0);
		buf_fini(&out);
	}
	json_free(document);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_documents),
		cmocka_unit_test(refuses_what_is_no_document),
		cmocka_unit_test(of_equal_names_the_last_is_taken),
		cmocka_unit_test(refuses_what_is_torn),
		cmocka_unit_test(bounds_depth_and_values),
		cmocka_unit_test(documents_live_side_by_side),
		cmocka_unit_test(large_objects_cost_little),
		cmocka_unit_test(finds_members_by_exact_name),
		cmocka_unit_test(getters_know_absent_from_wrong),
		cmocka_unit_test(whole_numbers_are_exact_or_refused),
		cmocka_unit_test(builds_documents),
		cmocka_unit_test(prints_within_the_ceiling_or_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/xml.h"

#include "common/buf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static struct arena arena;

static int set_up(void **state)
{
	arena_init(&arena);
	return 0;
}

static int tear_down(void **state)
{
	arena_fini(&arena);
	return 0;
}

static const struct xml *parse(const char *text)
{
	const char *problem = NULL;
	const struct xml *xml = xml_parse(str_from(text), &arena, &problem);
	if (xml == NULL)
		fail_msg("%s: %s", text, problem);
	return xml;
}

static void assert_text(const struct xml *xml, const char *path, const char *want)
{
	struct str got = xml_text(xml, path);
	assert_non_null(got.p);
	if (!str_eq_c(got, want))
		fail_msg("%s: \"%.*s\", not \"%s\"", path, STR_FMT(got), want);
}

static void an_answer_is_a_tree(void **state)
{
	const struct xml *xml =
		parse("<?xml version=\"1.0\"?>\n<!-- x --><a:Answer xmlns=\"http://x/\" "
		      "xmlns:a=\"http://y/\">\n"
		      "  <Result a:kind=\"1\"><Rules>\n<member><Arn> r1 "
		      "</Arn><Priority>7</Priority></member>\n"
		      "<other/><member><Arn>a&amp;b&#x41;<![CDATA[<c>]]></Arn></member></Rules>"
		      "<Empty/><Blank>  \n</Blank></Result>text</a:Answer>");
	assert_true(str_eq_c(xml->name, "Answer"));
	assert_true(str_is_empty(xml->text));
	const struct xml *member = xml_find(xml, "Result/Rules/member");
	assert_text(member, "Arn", "r1");
	assert_int_equal(xml_number(member, "Priority"), 7);
	assert_int_equal(xml_number(member, "Arn"), -1);
	assert_int_equal(xml_number(member, "Port"), -1);
	member = xml_next(member);
	assert_text(member, "Arn", "a&bA<c>");
	assert_null(xml_next(member));
	assert_text(xml, "Result/Empty", "");
	assert_text(xml, "Result/Blank", "");
	assert_null(xml_text(xml, "Result/None/Deeper").p);
	assert_null(xml_child(NULL, "Result"));
	assert_null(xml_find(NULL, "Result"));
	assert_ptr_equal(xml_child(xml, "Result"), xml_find(xml, "Result"));
	assert_null(xml_child(xml, "Rules"));
}

static void other_encodings_become_utf8(void **state)
{
	const struct xml *xml =
		parse("<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><a><b>\xe4</b></a>");
	assert_text(xml, "b", "\xc3\xa4");
}

static void what_is_no_answer_is_refused(void **state)
{
	static const struct {
		const char *in;
		const char *want;
	} rows[] = {
		{"", "it is empty"},
		{"   ", "it is no XML"},
		{"<html><br></html>", "it is no XML"},
		{"<a></a><b></b>", "it is no XML"},
		{"<a><b>half", "it is no XML"},
		{"<a>\xff</a>", "it is no XML"},
		{"{\"a\": 1}", "it is no XML"},
		{"<!DOCTYPE a [<!ENTITY b \"c\">]><a>&b;</a>",
			"it has a document type declaration"},
		{"<!DOCTYPE html><html></html>", "it has a document type declaration"},
		{"<a>&b;</a>", "it is no XML"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *problem = NULL;
		assert_null(xml_parse(str_from(rows[i].in), &arena, &problem));
		assert_string_equal(problem, rows[i].want);
	}
}

/* `count` times `text`, with `last` behind it. */
static const struct xml *parse_many(const char *first, const char *text, size_t count,
	const char *last, const char **ret_problem)
{
	struct buf all;
	buf_init(&all, 2 * XML_LEN_MAX);
	assert_int_equal(buf_append_str(&all, str_from(first)), 0);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(buf_append_str(&all, str_from(text)), 0);
	assert_int_equal(buf_append_str(&all, str_from(last)), 0);
	*ret_problem = NULL;
	const struct xml *xml = xml_parse(buf_str(&all), &arena, ret_problem);
	buf_fini(&all);
	return xml;
}

static void sizes_are_limited(void **state)
{
	const char *problem;
	assert_null(parse_many("", "<a>", XML_DEPTH_MAX + 1, "", &problem));
	assert_string_equal(problem, "its elements nest too deep");
	assert_null(parse_many("", "<a>", XML_DEPTH_MAX, "", &problem));
	assert_string_equal(problem, "it is no XML");
	assert_non_null(parse_many("<a>", "<b/>", XML_ELEMENTS_MAX - 1, "</a>", &problem));
	assert_null(parse_many("<a>", "<b/>", XML_ELEMENTS_MAX, "</a>", &problem));
	assert_string_equal(problem, "it has too many elements");
	assert_null(parse_many("<a>", "12345678", XML_LEN_MAX / 8, "</a>", &problem));
	assert_string_equal(problem, "it is too long");
	const struct xml *xml = parse_many("<a>", "12345678", 1024 * 100, "</a>", &problem);
	assert_int_equal(xml->text.len, 1024 * 800);
}

static void numbers_are_whole_and_not_too_large(void **state)
{
	const struct xml *xml = parse("<a><b>9007199254740992</b><c>9007199254740993</c><d>-1</d>"
				      "<e>1.5</e><f></f><g>0</g></a>");
	assert_int_equal(xml_number(xml, "b"), 9007199254740992);
	assert_int_equal(xml_number(xml, "c"), -1);
	assert_int_equal(xml_number(xml, "d"), -1);
	assert_int_equal(xml_number(xml, "e"), -1);
	assert_int_equal(xml_number(xml, "f"), -1);
	assert_int_equal(xml_number(xml, "g"), 0);
}

static void texts_can_be_wiped(void **state)
{
	const struct xml *xml = parse("<a><b>secret</b><c><d>other</d></c></a>");
	struct str b = xml_text(xml, "b");
	struct str d = xml_text(xml, "c/d");
	xml_wipe(xml);
	assert_memory_equal(b.p, "\0\0\0\0\0\0", 6);
	assert_memory_equal(d.p, "\0\0\0\0\0", 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(an_answer_is_a_tree, set_up, tear_down),
		cmocka_unit_test_setup_teardown(other_encodings_become_utf8, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_is_no_answer_is_refused, set_up, tear_down),
		cmocka_unit_test_setup_teardown(sizes_are_limited, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			numbers_are_whole_and_not_too_large, set_up, tear_down),
		cmocka_unit_test_setup_teardown(texts_can_be_wiped, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

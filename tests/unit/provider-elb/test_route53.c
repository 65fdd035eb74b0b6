// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/route53.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define PAGE(records, rest)                                                                    \
	"<?xml version=\"1.0\"?><ListResourceRecordSetsResponse "                              \
	"xmlns=\"https://route53.amazonaws.com/doc/2013-04-01/\"><ResourceRecordSets>" records \
	"</ResourceRecordSets>" rest "<MaxItems>300</MaxItems></ListResourceRecordSetsResponse>"
#define RECORD(name, type, rest)                                                  \
	"<ResourceRecordSet><Name>" name "</Name><Type>" type "</Type>" rest "</" \
	"ResourceRecordSet>"
#define VALUE(value)                                                   \
	"<TTL>300</TTL><ResourceRecords><ResourceRecord><Value>" value \
	"</Value></ResourceRecord></ResourceRecords>"
#define ALIAS(zone, name, evaluates)                                       \
	"<AliasTarget><HostedZoneId>" zone "</HostedZoneId><DNSName>" name \
	"</DNSName><EvaluateTargetHealth>" evaluates "</EvaluateTargetHealth></AliasTarget>"

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

static void assert_str(struct str got, const char *want)
{
	if (want == NULL ? got.p != NULL : !str_eq_c(got, want))
		fail_msg("\"%.*s\", not \"%s\"", STR_FMT(got), want != NULL ? want : "absent");
}

static const char *read_page(
	const char *text, struct records_zone *zone, struct route53_place *ret_next)
{
	const char *problem = NULL;
	const struct xml *xml = xml_parse(str_from(text), &arena, &problem);
	assert_non_null(xml);
	return route53_read_page(xml, &arena, zone, ret_next);
}

static void a_page_is_read(void **state)
{
	struct records_zone zone = {.name = STR_NONE};
	struct route53_place next;
	assert_null(read_page(
		PAGE(RECORD("Example.COM.", "SOA", VALUE("ns. x. 1 2 3 4 5")) RECORD(
			     "example.com.", "MX", VALUE("10 mail.")) RECORD("\\052.example.com.",
			     "A", ALIAS("Z1", "LB-1.elb.amazonaws.com.", "true"))
				RECORD("a-\\052.example.com.", "TXT", VALUE("\"a&amp;b\""))
					RECORD("w.example.com.", "A",
						"<SetIdentifier>one</SetIdentifier>"
						"<Weight>1</Weight>" VALUE("192.0.2.1")),
			"<IsTruncated>false</IsTruncated>"),
		&zone, &next));
	assert_str(zone.name, "example.com");
	assert_str(next.name, NULL);
	assert_int_equal(zone.records.count, 3);
	const struct record *records = zone.records.items;
	assert_str(records[0].name, "*.example.com");
	assert_str(records[0].alias, "lb-1.elb.amazonaws.com");
	assert_str(records[0].alias_zone, "Z1");
	assert_true(records[0].evaluates_health && !records[0].is_odd);
	assert_str(records[1].name, "a-*.example.com");
	assert_str(records[1].values.items[0], "\"a&b\"");
	assert_int_equal(records[1].ttl_s, 300);
	assert_str(records[1].alias, NULL);
	assert_true(records[2].is_odd);
}

static void the_next_page_is_asked_for(void **state)
{
	struct records_zone zone = {.name = STR_NONE};
	struct route53_place place = {STR_NONE, STR_NONE, STR_NONE};
	struct request request;
	route53_list(STR("Z1"), &place, &arena, &request);
	assert_str(request.path, "2013-04-01/hostedzone/Z1/rrset?maxitems=300");
	assert_null(
		read_page(PAGE("", "<IsTruncated>true</IsTruncated><NextRecordName>\\052.x.</"
				   "NextRecordName>"
				   "<NextRecordType>A</NextRecordType><NextRecordIdentifier>a/b "
				   "c</NextRecordIdentifier>"),
			&zone, &place));
	route53_list(STR("Z1"), &place, &arena, &request);
	assert_str(request.path, "2013-04-01/hostedzone/Z1/"
				 "rrset?identifier=a%2Fb%20c&maxitems=300&name=%5C052.x.&type=A");
	assert_str(request.body, NULL);
	assert_false(request.is_write);
}

static void pages_that_make_no_sense_are_refused(void **state)
{
	struct records_zone zone = {.name = STR_NONE};
	struct route53_place place;
	assert_non_null(read_page("<html/>", &zone, &place));
	assert_non_null(read_page(PAGE("", "<IsTruncated>true</IsTruncated>"), &zone, &place));
	assert_null(read_page(PAGE(RECORD("", "A", "") "<ResourceRecordSet/>", ""), &zone, &place));
	assert_int_equal(zone.records.count, 0);
}

static void changes_are_written(void **state)
{
	static struct str value = STR("\"a<b\"");
	static const struct record alias = {.name = STR("a-*.example.com"),
		.type = RECORD_A,
		.alias = STR("lb.elb"),
		.alias_zone = STR("Z2"),
		.evaluates_health = true};
	static const struct record text = {.name = STR("x.example.com"),
		.type = RECORD_TXT,
		.ttl_s = 60,
		.values = {&value, 1}};
	static struct records_change changes[] = {{true, &text}, {false, &alias}};
	static const struct records_group groups[] = {
		{.changes = {changes, 1}}, {.changes = {changes + 1, 1}}};
	struct request request;
	route53_change(STR("Z1"), groups, 2, &arena, &request);
	assert_str(request.path, "2013-04-01/hostedzone/Z1/rrset/");
	assert_true(request.is_write);
	assert_str(request.body,
		"<ChangeResourceRecordSetsRequest "
		"xmlns=\"https://route53.amazonaws.com/doc/2013-04-01/\"><ChangeBatch><Changes>"
		"<Change><Action>DELETE</Action><ResourceRecordSet><Name>x.example.com.</Name>"
		"<Type>TXT</Type><TTL>60</TTL><ResourceRecords><ResourceRecord><Value>\"a&lt;b\""
		"</Value></ResourceRecord></ResourceRecords></ResourceRecordSet></Change>"
		"<Change><Action>CREATE</Action><ResourceRecordSet><Name>a-\\052.example.com."
		"</Name><Type>A</Type><AliasTarget><HostedZoneId>Z2</HostedZoneId><DNSName>lb.elb."
		"</DNSName><EvaluateTargetHealth>true</EvaluateTargetHealth></AliasTarget>"
		"</ResourceRecordSet></Change>"
		"</Changes></ChangeBatch></ChangeResourceRecordSetsRequest>");
}

static void an_id_is_plain(void **state)
{
	static const struct {
		const char *id;
		bool want;
	} rows[] = {
		{"Z0123456789ABCDEFGHIJ", true},
		{"", false},
		{"/hostedzone/Z1", false},
		{"Z1?", false},
		{"Z12345678901234567890123456789012", false},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(route53_is_zone(str_from(rows[i].id)), rows[i].want);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_page_is_read, set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_next_page_is_asked_for, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			pages_that_make_no_sense_are_refused, set_up, tear_down),
		cmocka_unit_test_setup_teardown(changes_are_written, set_up, tear_down),
		cmocka_unit_test(an_id_is_plain),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/dns.h"

#include "fake_client.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

enum { INTERVAL_S = 600, WISHES_MAX = 8 };

struct fixture {
	struct calls calls;
	struct dns *dns;
	bool may_start;
	const char *hosts[WISHES_MAX]; /* first labels */
	size_t told;
	struct arena arena;
};

static bool may_start(void *ctx)
{
	return ((struct fixture *)ctx)->may_start;
}

static void list_hosts(void *ctx, struct arena *arena, struct records_wishes *wishes)
{
	const struct fixture *f = ctx;
	for (size_t i = 0; i < WISHES_MAX && f->hosts[i] != NULL; i++) {
		struct records_wish *wish = arena_push(arena, (void **)&wishes->hosts.items,
			&wishes->hosts.count, sizeof(struct records_wish));
		*wish = (struct records_wish){
			.host = arena_printf(arena, "%s.example.com", f->hosts[i]),
			.lb = STR("default/web"),
			.ingress = STR("default/web"),
			.dns_name = STR("lb.example.org"),
			.zone_id = STR("Z2"),
		};
	}
}

static void on_told(void *ctx)
{
	((struct fixture *)ctx)->told++;
}

static int set_up(void **ret_fixture)
{
	static struct str zones[] = {STR("Z1")};
	struct fixture *f = xcalloc(1, sizeof(*f));
	calls_init(&f->calls);
	arena_init(&f->arena);
	f->may_start = true;
	f->hosts[0] = "a";
	struct dns_config config = {.calls = &f->calls.context,
		.zones = {zones, 1},
		.cluster = STR("demo"),
		.interval_s = INTERVAL_S,
		.may_start = may_start,
		.list_hosts = list_hosts,
		.on_told = on_told,
		.ctx = f};
	f->dns = dns_new(&config);
	*ret_fixture = f;
	return 0;
}

static int tear_down(void **fixture)
{
	struct fixture *f = *fixture;
	dns_free(f->dns);
	arena_fini(&f->arena);
	calls_fini(&f->calls);
	free(f);
	return 0;
}

static void wake(struct fixture *f)
{
	dns_wake(f->dns);
	fake_wait(f->calls.loop, 1);
}

/* A page with these records, and what follows it. */
static void answer_page(struct fixture *f, const char *records, const char *rest)
{
	assert_string_equal(fake_action(), "ListResourceRecordSets");
	struct str text = arena_printf(&f->arena,
		"<ListResourceRecordSetsResponse><ResourceRecordSets>%s</ResourceRecordSets>%s"
		"</ListResourceRecordSetsResponse>",
		records, rest);
	fake_answer_xml(text.p);
	fake_run(f->calls.loop);
}

#define SOA                                                                                 \
	"<ResourceRecordSet><Name>example.com.</Name><Type>SOA</Type><TTL>900</TTL>"        \
	"<ResourceRecords><ResourceRecord><Value>ns. x. 1 2 3 4 5</Value></ResourceRecord>" \
	"</ResourceRecords></ResourceRecordSet>"
#define TEXT(name)                                                                            \
	"<ResourceRecordSet><Name>" name "</Name><Type>TXT</Type><TTL>300</TTL>"              \
	"<ResourceRecords><ResourceRecord><Value>\"heritage=external-dns,external-dns/owner=" \
	"sluice-demo,external-dns/resource=ingress/default/web\"</Value></ResourceRecord>"    \
	"</ResourceRecords></ResourceRecordSet>"
/* What a host has when it is as wanted. */
#define HOST(name)                                                                         \
	"<ResourceRecordSet><Name>" name ".example.com.</Name><Type>A</Type><AliasTarget>" \
	"<HostedZoneId>Z2</HostedZoneId><DNSName>lb.example.org.</DNSName>"                \
	"<EvaluateTargetHealth>true</EvaluateTargetHealth></AliasTarget>"                  \
	"</ResourceRecordSet>" TEXT(name ".example.com.") TEXT("a-" name ".example.com.")

static void end_page(struct fixture *f, const char *records)
{
	answer_page(f, records, "<IsTruncated>false</IsTruncated>");
}

/* The hosts of the change that is under way, by their first letters. */
static void assert_writes(const char *want)
{
	char got[WISHES_MAX + 1] = "";
	size_t len = 0;
	assert_string_equal(fake_action(), "ChangeResourceRecordSets");
	for (const char *at = fake.first->body; (at = strstr(at, "<Type>A</Type>")) != NULL; at++) {
		const char *name = at;
		while (strncmp(name, "<Name>", 6) != 0)
			name--;
		got[len++] = name[6];
	}
	assert_string_equal(got, want);
}

static void succeed(struct fixture *f)
{
	fake_answer_xml("<ChangeResourceRecordSetsResponse/>");
	fake_run(f->calls.loop);
}

static void fail_call(struct fixture *f, enum aws_outcome outcome)
{
	fake_fail(outcome, false);
	fake_run(f->calls.loop);
}

static const char *notice(struct fixture *f)
{
	struct lb_notice *list = NULL;
	size_t count = dns_notices(f->dns, STR("default/web"), &f->arena, &list);
	return count == 0 ? "" : arena_str(&f->arena, list[0].reason).p;
}

/* ---- passes ---- */

static void what_differs_is_written_and_then_nothing_is_done(void **fixture)
{
	struct fixture *f = *fixture;
	f->hosts[1] = "b";
	wake(f);
	end_page(f, SOA HOST("a"));
	assert_writes("b");
	succeed(f);
	assert_string_equal(fake_action(), "");
	/* The same is wanted, as before. */
	wake(f);
	assert_string_equal(fake_action(), "");
	/* But somebody else may have changed it. */
	fake_wait(f->calls.loop, INTERVAL_S + 1);
	end_page(f, SOA HOST("a") HOST("b"));
	assert_string_equal(fake_action(), "");
	assert_string_equal(fake.log, "ListResourceRecordSets ChangeResourceRecordSets "
				      "ListResourceRecordSets ");
}

static void nothing_is_read_before_everything_is_known(void **fixture)
{
	struct fixture *f = *fixture;
	f->may_start = false;
	wake(f);
	assert_string_equal(fake_action(), "");
	f->may_start = true;
	wake(f);
	assert_string_equal(fake_action(), "ListResourceRecordSets");
}

static void what_changes_during_a_pass_is_for_the_next(void **fixture)
{
	struct fixture *f = *fixture;
	wake(f);
	f->hosts[1] = "b";
	wake(f);
	end_page(f, SOA);
	assert_writes("a");
	succeed(f);
	fake_wait(f->calls.loop, 1);
	end_page(f, SOA HOST("a"));
	assert_writes("b");
	succeed(f);
	assert_string_equal(fake_action(), "");
}

/* What it has read is worth nothing any more. */
static void another_leader_ends_the_pass(void **fixture)
{
	struct fixture *f = *fixture;
	wake(f);
	end_page(f, SOA);
	assert_writes("a");
	f->may_start = false;
	dns_restart(f->dns);
	wake(f);
	fake_wait(f->calls.loop, INTERVAL_S + 1);
	assert_string_equal(fake_action(), "");
	/* The right comes back: although the same is wanted as in the last pass. */
	f->may_start = true;
	dns_restart(f->dns);
	wake(f);
	end_page(f, SOA HOST("a"));
	assert_string_equal(fake_action(), "");
}

/* ---- reading ---- */

static void a_throttled_page_is_asked_for_again(void **fixture)
{
	struct fixture *f = *fixture;
	wake(f);
	answer_page(f, SOA,
		"<IsTruncated>true</IsTruncated><NextRecordName>a.example.com.</NextRecordName>"
		"<NextRecordType>A</NextRecordType>");
	fail_call(f, AWS_THROTTLED);
	fake_wait(f->calls.loop, 60);
	assert_string_equal(fake_action(), "ListResourceRecordSets");
	static const char from[] = "name=a.example.com";
	struct str path = fake.first->request.path;
	assert_non_null(memmem(path.p, path.len, from, sizeof(from) - 1));
	end_page(f, HOST("a"));
	assert_string_equal(fake_action(), "");
	assert_false(dns_is_behind(f->dns, STR("default/web")));
}

static void a_zone_that_cannot_be_read_is_told_the_second_time(void **fixture)
{
	struct fixture *f = *fixture;
	wake(f);
	end_page(f, SOA HOST("a"));
	fake_wait(f->calls.loop, INTERVAL_S + 1);
	fail_call(f, AWS_DENIED);
	assert_string_equal(notice(f), "");
	assert_false(dns_is_behind(f->dns, STR("default/web")));
	fake_wait(f->calls.loop, 10);
	fail_call(f, AWS_DENIED);
	assert_string_equal(notice(f), "DnsRecordsFailed");
	assert_true(dns_is_behind(f->dns, STR("default/web")));
	assert_int_equal(f->told, 1);
	fake_wait(f->calls.loop, 60);
	end_page(f, SOA HOST("a"));
	assert_string_equal(notice(f), "");
	assert_int_equal(f->told, 2);
}

static void a_zone_without_a_name_is_not_written_to(void **fixture)
{
	struct fixture *f = *fixture;
	wake(f);
	end_page(f, HOST("b"));
	assert_string_equal(fake_action(), "");
	fake_wait(f->calls.loop, 10);
	end_page(f, SOA);
	assert_writes("a");
}

/* ---- writing ---- */

static void a_refused_batch_is_halved_until_one_is_found(void **fixture)
{
	struct fixture *f = *fixture;
	static const char *const hosts[] = {"b", "c", "d", "e"};
	for (size_t i = 0; i < 4; i++)
		f->hosts[i] = hosts[i];
	for (int pass = 0; pass < 2; pass++) {
		if (pass == 0)
			wake(f);
		else
			fake_wait(f->calls.loop, 10);
		end_page(f, pass == 0 ? SOA : SOA HOST("b") HOST("d") HOST("e"));
		if (pass == 0) {
			assert_writes("bcde");
			fail_call(f, AWS_REFUSED);
			assert_writes("bc");
			fail_call(f, AWS_REFUSED);
			assert_writes("b");
			succeed(f);
			assert_writes("cd");
			fail_call(f, AWS_REFUSED);
		}
		assert_writes("c");
		fail_call(f, AWS_REFUSED);
		if (pass == 0) {
			assert_writes("d");
			succeed(f);
			assert_writes("e");
			succeed(f);
		}
		assert_string_equal(notice(f), pass == 0 ? "" : "DnsRecordsFailed");
		assert_string_equal(fake_action(), "");
	}
}

/* It says nothing of the names: none of the zone is tried. */
static void a_denied_batch_is_not_halved(void **fixture)
{
	struct fixture *f = *fixture;
	f->hosts[1] = "b";
	wake(f);
	end_page(f, SOA);
	assert_writes("ab");
	fail_call(f, AWS_DENIED);
	assert_string_equal(fake_action(), "");
	/* Read again, for it may have been carried out. */
	fake_wait(f->calls.loop, 10);
	end_page(f, SOA HOST("a"));
	assert_writes("b");
	succeed(f);
	assert_string_equal(notice(f), "");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_differs_is_written_and_then_nothing_is_done),
		TEST(nothing_is_read_before_everything_is_known),
		TEST(what_changes_during_a_pass_is_for_the_next),
		TEST(another_leader_ends_the_pass),
		TEST(a_throttled_page_is_asked_for_again),
		TEST(a_zone_that_cannot_be_read_is_told_the_second_time),
		TEST(a_zone_without_a_name_is_not_written_to),
		TEST(a_refused_batch_is_halved_until_one_is_found),
		TEST(a_denied_batch_is_not_halved),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

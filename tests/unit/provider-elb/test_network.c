// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/network.h"

#include "common/buf.h"
#include "common/xalloc.h"
#include "provider-elb/networks.h"
#include "provider-elb/requests.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

static double clock_ahead_s;

/* Time passes when a test says so. */
[[gnu::visibility("default")]] int clock_gettime(clockid_t id, struct timespec *ret_time)
{
	long result = syscall(SYS_clock_gettime, id, ret_time);
	ret_time->tv_sec += (time_t)clock_ahead_s;
	return (int)result;
}

/* AWS and the instance's metadata. */
static struct {
	struct call *call;            /* that waits for its turn */
	const char *subnets;          /* what DescribeSubnets answers; NULL: it fails */
	enum aws_outcome outcomes[4]; /* of the others, in the order of `actions` */
	const char *vpc;              /* NULL: there is no metadata */
	struct metadata_query *query;
	char *path;
	void (*on_done)(void *ctx, struct str text, const char *problem);
	void *ctx;
	struct buf log;
} aws;

static const struct {
	const char *action;
	const char *answer;
} actions[] = {
	{"DescribeSubnets", NULL},
	{"DescribeAvailabilityZones",
		"<r><availabilityZoneInfo><item><zoneName>a</zoneName><zoneType>availability-zone</"
		"zoneType>"
		"</item><item><zoneName>l</zoneName><zoneType>local-zone</zoneType></item>"
		"</availabilityZoneInfo></r>"},
	{"DescribeVpcs", "<r><vpcSet><item><cidrBlock>10.0.0.0/16</cidrBlock></item></vpcSet></r>"},
	{"DescribeAccountLimits",
		"<r><DescribeAccountLimitsResult><Limits><member><Name>rules-per-application-load-"
		"balancer"
		"</Name><Max>77</Max></member></Limits></DescribeAccountLimitsResult></r>"},
};

void call_init(struct call *call, const struct call_context *context,
	bool (*on_turn)(void *ctx, struct arena *arena, struct request *ret_request),
	void (*on_answer)(void *ctx, const struct client_answer *answer), void *ctx)
{
	*call = (struct call){
		.context = context, .on_turn = on_turn, .on_answer = on_answer, .ctx = ctx};
}

void call_join(struct call *call, const struct request *like, enum call_rank rank)
{
	aws.call = call;
}

void call_cancel(struct call *call)
{
	aws.call = NULL;
}

void requests_account_limits(struct str marker, struct arena *arena, struct request *ret_request)
{
	*ret_request = (struct request){
		.service = AWS_ELB, .action = "DescribeAccountLimits", .body = STR("limits")};
}

struct metadata_query *metadata_start(struct metadata *metadata, const char *path,
	void (*on_done)(void *ctx, struct str text, const char *problem), void *ctx)
{
	aws.query = xmalloc(1);
	aws.path = xstrdup(path);
	aws.on_done = on_done;
	aws.ctx = ctx;
	return aws.query;
}

void metadata_cancel(struct metadata_query *query)
{
	free(query);
	free(aws.path);
	aws.query = NULL;
}

static bool answer_metadata(void)
{
	if (aws.query == NULL)
		return false;
	char *path = aws.path;
	free(aws.query);
	aws.query = NULL;
	assert_int_equal(buf_printf(&aws.log, "%s\n", path), 0);
	if (aws.vpc == NULL)
		aws.on_done(aws.ctx, STR_NONE, "nobody answers");
	else if (strstr(path, "vpc-id") != NULL)
		aws.on_done(aws.ctx, str_from(aws.vpc), NULL);
	else
		aws.on_done(aws.ctx, STR("0e:49:61:0f:c3:11/\n0e:49:61:0f:c3:12/\n"), NULL);
	free(path);
	return true;
}

static bool answer_call(void)
{
	struct call *call = aws.call;
	struct client_answer answer = {.message = STR(""), .retry_after_s = -1};
	struct request request;
	struct arena arena;
	size_t at = 0;
	const char *problem;
	if (call == NULL)
		return false;
	aws.call = NULL;
	arena_init(&arena);
	assert_true(call->on_turn(call->ctx, &arena, &request));
	assert_int_equal(buf_printf(&aws.log, "%.*s\n", STR_FMT(request.body)), 0);
	while (strcmp(actions[at].action, request.action) != 0)
		at++;
	const char *text = at == 0 ? aws.subnets : actions[at].answer;
	answer.outcome = text != NULL ? aws.outcomes[at] : AWS_FAILED;
	if (answer.outcome == AWS_OK)
		answer.xml = xml_parse(str_from(text), &arena, &problem);
	else
		answer.message = STR("AWS says no");
	call->on_answer(call->ctx, &answer);
	arena_fini(&arena);
	return true;
}

struct fixture {
	struct call_context context;
	struct settings settings;
	struct network *network;
	size_t changes;
};

static void on_change(void *ctx)
{
	struct fixture *f = ctx;
	f->changes++;
}

static int set_up(void **ret_fixture)
{
	struct fixture *f = xcalloc(1, sizeof(*f));
	memset(&aws, 0, sizeof(aws));
	buf_init(&aws.log, 64 * 1024);
	f->context.loop = ev_loop_new(EVFLAG_AUTO);
	settings_init(&f->settings);
	f->settings.cluster = STR("demo");
	*ret_fixture = f;
	return 0;
}

static int tear_down(void **fixture)
{
	struct fixture *f = *fixture;
	network_free(f->network);
	assert_null(f->settings.networks);
	ev_loop_destroy(f->context.loop);
	buf_fini(&aws.log);
	free(f);
	return 0;
}

static void run(struct fixture *f)
{
	for (int quiet = 0; quiet < 3; quiet++) {
		ev_run(f->context.loop, EVRUN_NOWAIT);
		while (answer_call() || answer_metadata())
			quiet = 0;
	}
}

static void start(struct fixture *f, const char *vpc, const char *subnet)
{
	static int metadata;
	static struct str given;
	given = str_from(subnet);
	struct network_config config = {
		.context = &f->context,
		.metadata = (struct metadata *)(void *)&metadata,
		.vpc = str_from(vpc),
		.subnets = {.items = &given, .count = subnet != NULL},
		.settings = &f->settings,
		.on_change = on_change,
		.ctx = f,
	};
	f->network = network_new(&config);
	network_start(f->network);
	run(f);
}

static void assert_log(const char *want)
{
	struct str got = buf_str(&aws.log);
	if (!str_eq_c(got, want))
		print_message("%.*s", STR_FMT(got));
	assert_true(str_eq_c(got, want));
	buf_clear(&aws.log);
}

static void assert_plan(struct fixture *f, enum elb_type type, size_t count)
{
	struct plan_network plan;
	network_plan(f->network, type, &plan);
	assert_int_equal(plan.subnets.count, count);
	assert_int_equal(network_problem(f->network, type) == NULL, count != 0);
}

#define ITEM(id, zone)                                                                 \
	"<item><subnetId>" id "</subnetId><vpcId>vpc-1</vpcId><availabilityZone>" zone \
	"</availabilityZone></item>"
#define TWO  "<r><subnetSet>" ITEM("subnet-1", "a") ITEM("subnet-2", "b") "</subnetSet></r>"
#define ONE  "<r><subnetSet>" ITEM("subnet-1", "a") ITEM("subnet-2", "l") "</subnetSet></r>"
#define NONE "<r><subnetSet/></r>"
#define BY_TAG                                                                                  \
	"Action=DescribeSubnets&Version=2016-11-15&Filter.1.Name=vpc-id&Filter.1.Value.1=vpc-1" \
	"&Filter.2.Name=tag%3Akubernetes.io%2Frole%2Felb&Filter.2.Value.1=1&Filter.2.Value.2=\n"
#define REST                                                    \
	"Action=DescribeAvailabilityZones&Version=2016-11-15\n" \
	"Action=DescribeVpcs&Version=2016-11-15&VpcId.1=vpc-1\nlimits\n"

static void finds_subnets_by_their_tag(void **fixture)
{
	struct fixture *f = *fixture;
	aws.subnets = TWO;
	aws.vpc = "vpc-1";
	start(f, NULL, NULL);
	assert_log(
		"latest/meta-data/network/interfaces/macs/\n"
		"latest/meta-data/network/interfaces/macs/0e:49:61:0f:c3:11/vpc-id\n" BY_TAG REST);
	assert_true(network_is_known(f->network));
	assert_plan(f, ELB_APPLICATION, 2);
	assert_plan(f, ELB_NETWORK, 2);
	assert_int_equal(f->settings.rules_max, 77);
	assert_true(networks_have(f->settings.networks, STR("10.0.1.2")));
	assert_int_equal(f->changes, 1);
}

static void takes_those_that_are_given(void **fixture)
{
	struct fixture *f = *fixture;
	aws.subnets = "<r><subnetSet>" ITEM("subnet-1", "a") "</subnetSet></r>";
	start(f, NULL, "subnet-1");
	assert_log("Action=DescribeSubnets&Version=2016-11-15&SubnetId.1=subnet-1\n"
		   "Action=DescribeVpcs&Version=2016-11-15&VpcId.1=vpc-1\nlimits\n");
	assert_plan(f, ELB_APPLICATION, 0);
	assert_plan(f, ELB_NETWORK, 1);
}

static void does_without_what_it_may_not_see(void **fixture)
{
	struct fixture *f = *fixture;
	aws.subnets = TWO;
	aws.outcomes[1] = AWS_DENIED;
	aws.outcomes[2] = AWS_DENIED;
	aws.outcomes[3] = AWS_DENIED;
	start(f, "vpc-1", NULL);
	assert_log(BY_TAG REST);
	assert_plan(f, ELB_APPLICATION, 2);
	assert_null(f->settings.networks);
}

static void tries_again(void **fixture)
{
	struct fixture *f = *fixture;
	start(f, NULL, NULL);
	assert_string_equal(network_problem(f->network, ELB_NETWORK),
		"the VPC is not known, because nobody answers; it can be given by --vpc-id");
	aws.vpc = "vpc-1";
	clock_ahead_s += 5;
	run(f);
	assert_string_equal(network_problem(f->network, ELB_APPLICATION), "AWS says no");
	assert_false(network_is_known(f->network));
	aws.subnets = NONE;
	clock_ahead_s += 10;
	run(f);
	assert_true(network_is_known(f->network));
	assert_plan(f, ELB_NETWORK, 0);
	assert_string_equal(network_problem(f->network, ELB_NETWORK),
		"there is no subnet for a load balancer: of 0 subnets with the tag "
		"kubernetes.io/role/elb 0 can be used");
	aws.subnets = ONE;
	clock_ahead_s += 300;
	run(f);
	assert_plan(f, ELB_NETWORK, 1);
	assert_string_equal(network_problem(f->network, ELB_APPLICATION),
		"an application load balancer needs subnets in two zones: "
		"of 2 subnets with the tag kubernetes.io/role/elb 1 can be used, 1 in a zone of "
		"another kind");
	aws.subnets = TWO;
	clock_ahead_s += 500;
	run(f);
	assert_plan(f, ELB_APPLICATION, 2);
	assert_int_equal(f->changes, 5);
}

static void is_refreshed_when_asked_and_not_too_often(void **fixture)
{
	struct fixture *f = *fixture;
	aws.subnets = TWO;
	start(f, "vpc-1", NULL);
	assert_log(BY_TAG REST);
	network_refresh(f->network);
	run(f);
	assert_log("");
	clock_ahead_s += 31;
	run(f);
	assert_log(BY_TAG REST);
	assert_int_equal(f->changes, 1);
	clock_ahead_s += 1000;
	run(f);
	assert_log("");
	aws.subnets = NULL;
	network_refresh(f->network);
	run(f);
	assert_log(BY_TAG);
	assert_plan(f, ELB_APPLICATION, 2);
	assert_int_equal(f->changes, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(finds_subnets_by_their_tag),
		TEST(takes_those_that_are_given),
		TEST(does_without_what_it_may_not_see),
		TEST(tries_again),
		TEST(is_refreshed_when_asked_and_not_too_often),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/balancer.h"

#include "../provider-common/objects.h"
#include "fake_client.h"
#include "provider-elb/balancer_state.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#define ARN "arn:aws:elasticloadbalancing:us-east-1:123456789012:"
#define LB  "default/web"

/* The parts around a balancer, which say what a test has set. */
struct fixture {
	struct calls calls;
	struct config options;
	struct settings settings;
	struct state *state;
	struct message_reader *reader;
	struct arena arena;
	struct buf buf;
	struct observed *observed;
	struct balancer_context context;
	struct balancer *balancer;
	struct object *object;
	unsigned made; /* things in AWS */
	size_t gone;
};

static struct {
	bool has_network;
	bool has_certificates; /* what ACM has is known */
	uint64_t losses;
	uint64_t complete; /* number of the last list */
	size_t lists;
} around;

struct state *provider_state(struct provider *provider)
{
	return (struct state *)(void *)provider;
}

void provider_decode(
	struct provider *provider, const struct object *object, struct arena *arena, void *value)
{
	state_decode(provider_state(provider), object, arena, value);
}

void provider_status_changed(struct provider *provider, struct object *load_balancer)
{
}

void provider_event(struct provider *provider, const struct lb_event *event)
{
}

bool network_is_known(const struct network *network)
{
	return around.has_network;
}

void network_plan(const struct network *network, enum elb_type type, struct plan_network *ret_plan)
{
	static struct str subnets[] = {STR("subnet-1"), STR("subnet-2")};
	static struct str groups[] = {STR("sg-1")};
	*ret_plan = (struct plan_network){
		.vpc = STR("vpc-1"), .subnets = {subnets, 2}, .security_groups = {groups, 1}};
}

const char *network_problem(const struct network *network, enum elb_type type)
{
	return around.has_network ? NULL : "they were not asked for yet";
}

void network_refresh(struct network *network)
{
}

struct str certs_arn(const struct certs *certs, struct str id, bool *ret_is_refused)
{
	*ret_is_refused = false;
	return STR_NONE;
}

bool certs_are_known(const struct certs *certs)
{
	return around.has_certificates;
}

bool inventory_is_known(const struct inventory *inventory)
{
	return true;
}

const char *inventory_problem(const struct inventory *inventory)
{
	return NULL;
}

const char *inventory_missing_text(const struct inventory *inventory)
{
	return NULL;
}

uint64_t inventory_losses(const struct inventory *inventory)
{
	return around.losses;
}

uint64_t inventory_next_pass(const struct inventory *inventory)
{
	return around.complete + 2; /* one is under way */
}

uint64_t inventory_complete_pass(const struct inventory *inventory)
{
	return around.complete;
}

void inventory_list_now(struct inventory *inventory)
{
	around.lists++;
}

void inventory_poll(struct inventory *inventory)
{
}

void inventory_poll_gone(struct inventory *inventory, struct str arn)
{
}

static void on_gone(void *ctx, struct balancer *balancer)
{
	struct fixture *f = ctx;
	f->gone++;
	f->balancer = NULL;
	balancer_free(balancer);
}

static int set_up(void **ret_fixture)
{
	static const struct state_config state_config = {.want_touched = true};
	struct fixture *f = xcalloc(1, sizeof(*f));
	calls_init(&f->calls);
	memset(&around, 0, sizeof(around));
	around.has_network = around.has_certificates = true;
	f->options = (struct config){.replace_delay = 300, .tag_delay = 10};
	settings_init(&f->settings);
	f->settings.cluster = STR("demo");
	f->settings.scheme = STR("internet-facing");
	f->state = state_new(&state_config);
	f->reader = message_reader_new();
	arena_init(&f->arena);
	buf_init(&f->buf, FRAME_LEN_MAX);
	f->observed = observed_new();
	f->context = (struct balancer_context){.calls = &f->calls.context,
		.options = &f->options,
		.settings = &f->settings,
		.provider = (struct provider *)(void *)f->state,
		.observed = f->observed,
		.on_gone = on_gone,
		.ctx = f};
	f->balancer = balancer_new(&f->context, STR(LB));
	*ret_fixture = f;
	return 0;
}

static int tear_down(void **fixture)
{
	struct fixture *f = *fixture;
	balancer_free(f->balancer);
	observed_free(f->observed);
	state_free(f->state);
	message_reader_free(f->reader);
	arena_fini(&f->arena);
	buf_fini(&f->buf);
	calls_fini(&f->calls);
	free(f);
	return 0;
}

/* ---- what the translator says ---- */

static void upsert(struct fixture *f, const void *object)
{
	struct schema_error error = {""};
	struct message message;
	struct str payload = encode_upsert(&f->buf, object);
	assert_int_equal(message_open(f->reader, payload, &message, &error), 0);
	assert_int_equal(state_stage_upsert(f->state, &message, &f->arena, &error), 0);
	arena_reset(&f->arena);
}

static void stage_balancer(struct fixture *f, bool is_absent)
{
	struct listener http = {.port = 80, .protocol = LISTENER_HTTP};
	struct load_balancer lb = make_load_balancer(LB, "web");
	lb.absent = is_absent;
	lb.listeners.items = &http;
	lb.listeners.count = !is_absent;
	upsert(f, &lb);
}

static void stage_host(struct fixture *f, const char *path)
{
	struct path_rule rule = {
		.path = str_from(path), .match = PATH_PREFIX, .pool = STR("default/web")};
	struct virtual_host host = make_host("host", LB, &rule, 1);
	upsert(f, &host);
}

static void stage_pool(struct fixture *f, const char *ip)
{
	struct pool_endpoint endpoint = {
		.ip = str_from(ip), .port = 8080, .active = true, .ready = true};
	struct pool pool = make_pool("default/web", 8080);
	pool.endpoints.items = &endpoint;
	pool.endpoints.count = 1;
	upsert(f, &pool);
}

static void commit(struct fixture *f)
{
	struct state_commit told;
	state_commit(f->state, &told);
	f->object = state_find(f->state, LB_LOAD_BALANCER, STR(LB));
	balancer_want(f->balancer, f->object);
	state_commit_done(f->state);
	fake_run(f->calls.loop);
}

static void want_web(struct fixture *f)
{
	stage_balancer(f, false);
	stage_host(f, "/foo");
	stage_pool(f, "10.0.0.1");
	commit(f);
}

static enum lb_state status(struct fixture *f, struct lb_status *ret_status)
{
	*ret_status = (struct lb_status){0};
	arena_reset(&f->arena);
	assert_true(balancer_fill_status(f->balancer, &f->arena, ret_status));
	return (enum lb_state)ret_status->state;
}

static void assert_status(struct fixture *f, enum lb_state want)
{
	struct lb_status got;
	assert_int_equal(status(f, &got), want);
}

/* ---- what AWS says ---- */

/* A parameter of the oldest call, as it stands there. */
static struct str parameter(const char *name)
{
	const char *at = strstr(fake.first->body, name);
	struct str value = {at != NULL ? at + strlen(name) : "", 0};
	while (value.p[value.len] != '\0' && value.p[value.len] != '&')
		value.len++;
	return value;
}

/* Each call succeeds; what is made has a new ARN. */
static void answer_well(struct fixture *f)
{
	char text[1024] = "";
	struct str name = parameter("Name=");
	unsigned number = ++f->made;
	if (strcmp(fake_action(), "CreateTargetGroup") == 0)
		snprintf(text, sizeof(text),
			"<TargetGroups><member><TargetGroupArn>" ARN
			"targetgroup/%.*s/%u</TargetGroupArn></member></TargetGroups>",
			STR_FMT(name), number);
	else if (strcmp(fake_action(), "CreateLoadBalancer") == 0)
		snprintf(text, sizeof(text),
			"<LoadBalancers><member><LoadBalancerArn>" ARN
			"loadbalancer/app/%.*s/%u</LoadBalancerArn><Type>application</Type>"
			"<DNSName>x%u.example</DNSName><SecurityGroups><member>sg-1</member>"
			"</SecurityGroups><State><Code>active</Code></State></member>"
			"</LoadBalancers>",
			STR_FMT(name), number, number);
	else if (strcmp(fake_action(), "CreateListener") == 0)
		snprintf(text, sizeof(text),
			"<Listeners><member><ListenerArn>" ARN
			"listener/app/x/1/%u</ListenerArn></member></Listeners>",
			number);
	else if (strcmp(fake_action(), "CreateRule") == 0)
		snprintf(text, sizeof(text),
			"<Rules><member><RuleArn>" ARN
			"listener-rule/app/x/1/1/%u</RuleArn></member></Rules>",
			number);
	fake_answer(text);
	fake_run(f->calls.loop);
}

static void run_until(struct fixture *f, const char *action)
{
	for (int i = 0; i < 100 && strcmp(fake_action(), action) != 0; i++) {
		if (fake.first == NULL)
			fake_wait(f->calls.loop, 11);
		else
			answer_well(f);
	}
	assert_string_equal(fake_action(), action);
}

/* Until nothing is under way, and nothing comes. */
static void run_all(struct fixture *f)
{
	for (int i = 0; i < 100 && fake.first != NULL; i++)
		answer_well(f);
	assert_null(fake.first);
}

static size_t count(const char *action)
{
	size_t found = 0;
	for (const char *at = fake.log; (at = strstr(at, action)) != NULL; at++)
		found++;
	return found;
}

static struct observed_balancer *find(struct fixture *f)
{
	return observed_next_balancer(f->observed, NULL);
}

/* ---- tests ---- */

static void it_is_made_step_by_step_and_told_when_it_is_there(void **fixture)
{
	struct fixture *f = *fixture;
	struct lb_status told;
	want_web(f);
	assert_status(f, LB_STATE_PENDING);
	run_until(f, "CreateListener");
	assert_int_equal(status(f, &told), LB_STATE_PENDING);
	assert_int_equal(told.addresses.count, 0);
	run_all(f);
	assert_int_equal(status(f, &told), LB_STATE_APPLIED);
	assert_int_equal(told.addresses.count, 1);
}

/* The plan of the call points to what was wanted before. */
static void a_change_may_come_while_a_call_is_under_way(void **fixture)
{
	struct fixture *f = *fixture;
	state_begin_snapshot(f->state);
	want_web(f);
	run_until(f, "CreateRule");
	stage_host(f, "/bar");
	commit(f);
	run_all(f);
	assert_int_equal(count("CreateRule"), 2);
	assert_int_equal(count("DeleteRule"), 1);
	const struct elb_listener *listener = &find(f)->listeners.items[0];
	assert_int_equal(listener->rules.count, 1);
	assert_status(f, LB_STATE_APPLIED);
}

static void it_may_stop_being_wanted_while_a_call_is_under_way(void **fixture)
{
	struct fixture *f = *fixture;
	want_web(f);
	run_until(f, "CreateRule");
	balancer_want_nothing(f->balancer, 0);
	answer_well(f);
	/* The snapshot is not complete. */
	assert_null(fake.first);
	assert_int_equal(find(f)->listeners.items[0].rules.count, 1);
}

static void what_was_refused_may_be_forgotten_by_then(void **fixture)
{
	struct fixture *f = *fixture;
	state_begin_snapshot(f->state);
	want_web(f);
	run_all(f);
	stage_host(f, "/bar");
	commit(f);
	run_until(f, "DeleteRule");
	observed_drop_content(find(f));
	fake_fail(AWS_REFUSED, false);
	fake_run(f->calls.loop);
	assert_string_equal(fake_action(), "DescribeListeners");
}

static void what_was_planned_with_may_be_lost_by_then(void **fixture)
{
	struct fixture *f = *fixture;
	want_web(f);
	run_until(f, "CreateRule");
	observed_forget_balancer(f->observed, find(f));
	around.losses++;
	answer_well(f);
	assert_int_equal(around.lists, 1);
	assert_string_equal(fake_action(), "CreateLoadBalancer");
}

static void end_list(struct fixture *f)
{
	around.complete++;
	balancer_on_listed(f->balancer);
	fake_run(f->calls.loop);
}

/* The list that was under way when it was denied knows nothing of it. */
static void a_denial_is_believed_until_a_list_tells_better(void **fixture)
{
	struct fixture *f = *fixture;
	want_web(f);
	run_all(f);
	f->settings.health_check_interval_s = 30;
	balancer_reconsider(f->balancer, f->object);
	run_until(f, "ModifyTargetGroup");
	fake_fail(AWS_DENIED, false);
	fake_wait(f->calls.loop, 3);
	run_until(f, "ModifyTargetGroup");
	fake_fail(AWS_DENIED, false);
	run_all(f);
	assert_status(f, LB_STATE_FAILED);
	end_list(f);
	assert_status(f, LB_STATE_FAILED);
	/* It is gone. */
	observed_forget_group(f->observed, observed_next_group(f->observed, NULL));
	around.losses++;
	end_list(f);
	run_until(f, "CreateTargetGroup");
	run_all(f);
	assert_status(f, LB_STATE_APPLIED);
}

static void a_denial_that_stays_is_tried_again_once(void **fixture)
{
	struct fixture *f = *fixture;
	want_web(f);
	run_all(f);
	f->settings.health_check_interval_s = 30;
	balancer_reconsider(f->balancer, f->object);
	run_until(f, "ModifyTargetGroup");
	fake_clear_log();
	for (int i = 0; i < 20; i++) {
		if (strcmp(fake_action(), "ModifyTargetGroup") == 0)
			fake_fail(AWS_DENIED, false);
		else if (fake.first != NULL)
			answer_well(f);
		fake_wait(f->calls.loop, 3);
		end_list(f);
	}
	/* Besides the first: after what is in the balancer was read, and after everything was. */
	assert_int_equal(count("ModifyTargetGroup "), 2);
	assert_status(f, LB_STATE_FAILED);
}

/* What is read again between the tries must not make each of them the first. */
static void what_is_not_found_again_and_again_is_told(void **fixture)
{
	struct fixture *f = *fixture;
	struct lb_status told;
	want_web(f);
	for (int i = 0; i < 20; i++) {
		run_until(f, "CreateListener");
		fake_fail(AWS_NOT_FOUND, false);
		fake_wait(f->calls.loop, 3);
		if (strcmp(fake_action(), "DescribeListeners") == 0)
			answer_well(f);
	}
	assert_int_equal(status(f, &told), LB_STATE_FAILED);
	assert_true(str_eq_c(told.message, "AWS says no"));
	run_until(f, "CreateListener");
	run_all(f);
	assert_status(f, LB_STATE_APPLIED);
}

static void a_new_state_is_not_applied_because_the_old_one_was(void **fixture)
{
	struct fixture *f = *fixture;
	want_web(f);
	run_all(f);
	assert_status(f, LB_STATE_APPLIED);
	/* Looked at again, it is still as it was seen. */
	fake_clear_log();
	assert_true(balancer_sweep(f->balancer));
	fake_run(f->calls.loop);
	assert_int_equal(count("DescribeListeners"), 1);
	assert_status(f, LB_STATE_APPLIED);
	stage_host(f, "/bar");
	commit(f);
	assert_status(f, LB_STATE_PENDING);
}

static void new_endpoints_are_not_applied_before_they_are_registered(void **fixture)
{
	struct fixture *f = *fixture;
	want_web(f);
	run_all(f);
	stage_pool(f, "10.0.0.2");
	commit(f);
	assert_string_equal(fake_action(), "RegisterTargets");
	assert_status(f, LB_STATE_PENDING);
	run_all(f);
	assert_status(f, LB_STATE_APPLIED);
}

static void endpoints_that_change_are_no_reason_to_try_what_was_refused(void **fixture)
{
	struct fixture *f = *fixture;
	want_web(f);
	run_until(f, "CreateRule");
	fake_fail(AWS_REFUSED, false);
	run_all(f);
	assert_status(f, LB_STATE_FAILED);
	for (int i = 2; i < 9; i++) {
		char ip[16];
		snprintf(ip, sizeof(ip), "10.0.0.%d", i);
		stage_pool(f, ip);
		commit(f);
		run_all(f);
	}
	assert_int_equal(count("CreateRule"), 1);
	stage_host(f, "/bar");
	commit(f);
	run_all(f);
	assert_int_equal(count("CreateRule"), 2);
	assert_status(f, LB_STATE_APPLIED);
}

static void an_answer_without_sense_is_not_asked_for_in_a_loop(void **fixture)
{
	struct fixture *f = *fixture;
	want_web(f);
	run_until(f, "CreateLoadBalancer");
	fake_answer("");
	fake_run(f->calls.loop);
	assert_string_equal(fake_action(), "");
	assert_status(f, LB_STATE_FAILED);
	assert_int_equal(around.lists, 1);
	run_until(f, "CreateLoadBalancer");
	run_all(f);
	assert_status(f, LB_STATE_APPLIED);
}

static void what_must_not_exist_is_removed_before_that_is_told(void **fixture)
{
	struct fixture *f = *fixture;
	state_begin_snapshot(f->state);
	want_web(f);
	run_all(f);
	stage_balancer(f, true);
	commit(f);
	assert_string_equal(fake_action(), "DeleteLoadBalancer");
	assert_status(f, LB_STATE_PENDING);
	answer_well(f);
	observed_forget_balancer(f->observed, find(f));
	balancer_wake(f->balancer);
	run_until(f, "DeleteTargetGroup");
	answer_well(f);
	assert_status(f, LB_STATE_APPLIED);
	assert_int_equal(f->gone, 0);
}

/* It belonged to nobody, and its removal waits for its turn. */
static void what_is_wanted_again_is_not_removed_before_that_is_worked_out(void **fixture)
{
	struct fixture *f = *fixture;
	state_begin_snapshot(f->state);
	want_web(f);
	run_all(f);
	f->calls.is_closed = true;
	balancer_want_nothing(f->balancer, 0);
	fake_run(f->calls.loop);
	around.has_network = false;
	commit(f);
	f->calls.is_closed = false;
	call_queue_wake(f->calls.context.queue);
	fake_clear_log();
	fake_run(f->calls.loop);
	assert_string_equal(fake.log, "");
	assert_status(f, LB_STATE_PENDING);
}

static struct str shown(struct fixture *f)
{
	struct lb_status told;
	status(f, &told);
	return told.addresses.count != 0 ? told.addresses.items[0].hostname : STR_NONE;
}

/* Its address is that of what serves everything. */
static void a_successor_is_shown_when_it_has_all_that_is_wanted(void **fixture)
{
	struct fixture *f = *fixture;
	state_begin_snapshot(f->state);
	want_web(f);
	run_all(f);
	struct observed_balancer *old = find(f);
	char *before = xstrdup(old->dns_name);
	f->settings.scheme = STR("internal");
	commit(f);
	run_until(f, "CreateRule");
	assert_true(str_eq_c(shown(f), before));
	run_all(f);
	assert_status(f, LB_STATE_APPLIED);
	assert_false(str_eq_c(shown(f), before));
	assert_true(old->replaced_at > 0);
	/* Taken back: its time begins anew when it is replaced again. */
	f->settings.scheme = STR("internet-facing");
	commit(f);
	assert_true(old->replaced_at == 0);
	free(before);
}

/* Nobody waits for it, and it passes by itself, mostly. */
static void what_cannot_be_cleaned_up_at_once_takes_nothing_back(void **fixture)
{
	struct fixture *f = *fixture;
	state_begin_snapshot(f->state);
	want_web(f);
	run_all(f);
	observed_set_group_name(f->observed,
		observed_add_group(f->observed, STR(ARN "targetgroup/old/1"), STR(LB)), STR("old"));
	balancer_wake(f->balancer);
	run_until(f, "DeleteTargetGroup");
	fake_fail(AWS_IN_USE, false);
	fake_run(f->calls.loop);
	assert_status(f, LB_STATE_APPLIED);
	run_until(f, "DeleteTargetGroup");
	for (int i = 0; i < 20; i++) {
		fake_fail(AWS_IN_USE, false);
		run_until(f, "DeleteTargetGroup");
	}
	assert_status(f, LB_STATE_FAILED);
	run_all(f);
	assert_status(f, LB_STATE_APPLIED);
}

/* Somebody may have raised the quota. */
static void rules_that_were_given_up_are_tried_again(void **fixture)
{
	struct fixture *f = *fixture;
	struct lb_status told;
	want_web(f);
	run_until(f, "CreateRule");
	fake_fail(AWS_QUOTA, false);
	fake_run(f->calls.loop);
	run_all(f);
	status(f, &told);
	assert_int_equal(told.notices.count, 1);
	assert_true(str_eq_c(told.notices.items[0].reason, "RuleQuota"));
	clock_ahead_s += 601;
	balancer_wake(f->balancer);
	fake_run(f->calls.loop);
	run_until(f, "CreateRule");
	run_all(f);
	status(f, &told);
	assert_int_equal(told.notices.count, 0);
}

/* Nobody tells it when nothing was found that concerns it. */
static void what_acm_has_is_waited_for_and_no_longer(void **fixture)
{
	struct fixture *f = *fixture;
	struct listener https = {.port = 443,
		.protocol = LISTENER_HTTPS,
		.certificates = {.items = (struct str[]){STR("tls")}, .count = 1}};
	struct listener both[] = {{.port = 80, .protocol = LISTENER_HTTP}, https};
	struct load_balancer lb = make_load_balancer(LB, "web");
	struct lb_status told;
	lb.listeners.items = both;
	lb.listeners.count = 2;
	upsert(f, &lb);
	around.has_certificates = false;
	commit(f);
	assert_string_equal(fake.log, "");
	assert_int_equal(status(f, &told), LB_STATE_PENDING);
	assert_true(str_is_empty(told.message));
	around.has_certificates = true;
	run_until(f, "CreateListener");
	assert_true(fake_asks("Port=80"));
}

static void a_removal_that_is_complete_ends_it(void **fixture)
{
	struct fixture *f = *fixture;
	state_begin_snapshot(f->state);
	want_web(f);
	run_all(f);
	balancer_want_nothing(f->balancer, 0);
	run_until(f, "DeleteLoadBalancer");
	answer_well(f);
	observed_forget_balancer(f->observed, find(f));
	balancer_wake(f->balancer);
	run_until(f, "DeleteTargetGroup");
	answer_well(f);
	assert_int_equal(f->gone, 1);
}

static void a_standby_that_takes_over_reads_again_what_it_was_reading(void **fixture)
{
	struct fixture *f = *fixture;
	want_web(f);
	run_all(f);
	fake_clear_log();
	assert_true(balancer_sweep(f->balancer));
	fake_run(f->calls.loop);
	assert_int_equal(count("DescribeListeners"), 1);
	observed_forget_balancer(f->observed, find(f));
	around.losses++;
	balancer_start_over(f->balancer);
	/* Its answer comes to nothing: the group is forgotten. */
	assert_string_equal(fake_action(), "DescribeTargetHealth");
	assert_null(fake.first->next);
	assert_status(f, LB_STATE_PENDING);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(it_is_made_step_by_step_and_told_when_it_is_there),
		TEST(a_change_may_come_while_a_call_is_under_way),
		TEST(it_may_stop_being_wanted_while_a_call_is_under_way),
		TEST(what_was_refused_may_be_forgotten_by_then),
		TEST(what_was_planned_with_may_be_lost_by_then),
		TEST(a_denial_is_believed_until_a_list_tells_better),
		TEST(a_denial_that_stays_is_tried_again_once),
		TEST(what_is_not_found_again_and_again_is_told),
		TEST(a_new_state_is_not_applied_because_the_old_one_was),
		TEST(new_endpoints_are_not_applied_before_they_are_registered),
		TEST(endpoints_that_change_are_no_reason_to_try_what_was_refused),
		TEST(an_answer_without_sense_is_not_asked_for_in_a_loop),
		TEST(what_must_not_exist_is_removed_before_that_is_told),
		TEST(what_is_wanted_again_is_not_removed_before_that_is_worked_out),
		TEST(what_acm_has_is_waited_for_and_no_longer),
		TEST(a_successor_is_shown_when_it_has_all_that_is_wanted),
		TEST(what_cannot_be_cleaned_up_at_once_takes_nothing_back),
		TEST(rules_that_were_given_up_are_tried_again),
		TEST(a_removal_that_is_complete_ends_it),
		TEST(a_standby_that_takes_over_reads_again_what_it_was_reading),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

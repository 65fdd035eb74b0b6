// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/network.h"

#include "common/backoff.h"
#include "common/clock.h"
#include "common/xalloc.h"
#include "provider-elb/limits.h"
#include "provider-elb/log_events.h"
#include "provider-elb/params.h"
#include "provider-elb/requests.h"
#include "provider-elb/subnets.h"
#include "provider-elb/vpc_metadata.h"

enum { PAGES_MAX = 100, ALB_SUBNETS_MIN = 2 };
/* How long what was found is good enough for the next who asks. */
static const double FRESH_S = 30;

enum network_step {
	NETWORK_IDLE,
	NETWORK_VPC,
	NETWORK_SUBNETS,
	NETWORK_ZONES,
	NETWORK_CIDRS,
	NETWORK_LIMITS,
};

struct network {
	struct network_config config;
	struct call call;
	struct vpc_metadata *metadata;
	ev_timer timer;
	struct backoff backoff;
	enum network_step step;
	/* While it is being found out: */
	struct arena work;
	struct str vpc;
	struct subnet_list list;
	struct subnet_zone_list zones;
	struct subnets_choice choice;
	struct networks *new_networks;
	struct str cidrs;
	struct str token; /* of the next page; absent: the first */
	size_t pages;
	/* What was found: */
	bool is_known;
	double found_at; /* by clock_monotonic_s() */
	struct arena found;
	struct str found_vpc;
	struct str found_cidrs;
	struct str_list found_subnets;
	char *problem[ELB_NETWORK + 1]; /* by enum elb_type; NULL: none */
	struct networks *networks;
	char *told; /* what on_change() was called for last */
};

static const char *const actions[] = {
	[NETWORK_SUBNETS] = "DescribeSubnets",
	[NETWORK_ZONES] = "DescribeAvailabilityZones",
	[NETWORK_CIDRS] = "DescribeVpcs",
	[NETWORK_LIMITS] = "DescribeAccountLimits",
};

static bool has_given(const struct network *network)
{
	return network->config.subnets.count != 0;
}

static const char *role_tag(const struct network *network)
{
	return str_eq(network->config.settings->scheme, STR("internal")) ? SUBNETS_TAG_INTERNAL
									 : SUBNETS_TAG_PUBLIC;
}

/* ---- what was found ---- */

/* All that is answered, as one text. */
static char *print_found(const struct network *network)
{
	const struct settings *settings = network->config.settings;
	struct arena arena;
	struct str text = STR_NONE;
	arena_init(&arena);
	for (size_t i = 0; i < network->found_subnets.count; i++)
		text = arena_printf(&arena, "%.*s %.*s", STR_FMT(text),
			STR_FMT(network->found_subnets.items[i]));
	char *printed = xasprintf("%.*s%.*s %.*s %llu %llu %llu %llu %s %s",
		STR_FMT(network->found_vpc), STR_FMT(text), STR_FMT(network->found_cidrs),
		(unsigned long long)settings->rules_max, (unsigned long long)settings->groups_max,
		(unsigned long long)settings->certificates_max,
		(unsigned long long)settings->targets_max,
		network->problem[ELB_APPLICATION] != NULL ? network->problem[ELB_APPLICATION] : "",
		network->problem[ELB_NETWORK] != NULL ? network->problem[ELB_NETWORK] : "");
	arena_fini(&arena);
	return printed;
}

static void tell(struct network *network)
{
	char *news = print_found(network);
	if (network->told != NULL && strcmp(news, network->told) == 0) {
		free(news);
		return;
	}
	free(network->told);
	network->told = news;
	network->config.on_change(network->config.ctx);
}

/* For one type, or for both (the text is told once). */
static void set_problems(struct network *network, const char *application, const char *any)
{
	const char *news = any != NULL ? any : application;
	const char *before = network->problem[ELB_APPLICATION];
	if (news != NULL && (before == NULL || strcmp(news, before) != 0))
		log_event(&EV_NETWORK_UNKNOWN, LOG_STR("reason", news));
	str_set(&network->problem[ELB_APPLICATION], str_from(news));
	str_set(&network->problem[ELB_NETWORK], str_from(any));
}

static void judge(struct network *network)
{
	size_t count = network->found_subnets.count;
	char *text = xasprintf("%s: %.*s",
		count == 0 ? "there is no subnet for a load balancer"
			   : "an application load balancer needs subnets in two zones",
		STR_FMT(network->choice.reason));
	set_problems(network, count < ALB_SUBNETS_MIN ? text : NULL, count == 0 ? text : NULL);
	free(text);
}

/* ---- the course of it ---- */

static void begin(struct network *network);
static void on_timer(struct ev_loop *loop, ev_timer *timer, int events)
{
	begin(timer->data);
}

static void start_timer(struct network *network, double delay_s)
{
	ev_timer_stop(network->config.context->loop, &network->timer);
	ev_timer_set(&network->timer, delay_s, 0.);
	ev_timer_start(network->config.context->loop, &network->timer);
}

/* Something has to be asked again. What was found before stays. */
static void fail(struct network *network, struct str reason, double retry_after_s)
{
	double delay_s = backoff_next(&network->backoff);
	char *text = str_dup(reason);
	network->step = NETWORK_IDLE;
	if (!network->is_known) {
		set_problems(network, text, text);
	} else {
		log_event(&EV_NETWORK_UNKNOWN, LOG_STR("reason", text));
	}
	free(text);
	start_timer(network, delay_s > retry_after_s ? delay_s : retry_after_s);
	tell(network);
}

static void publish(struct network *network)
{
	bool had_subnets = network->found_subnets.count != 0;
	network->step = NETWORK_IDLE;
	network->found_at = clock_monotonic_s();
	arena_reset(&network->found);
	network->found_vpc = arena_str(&network->found, network->vpc);
	network->found_cidrs = arena_str(&network->found, network->cidrs);
	network->found_subnets = (struct str_list){
		.items = arena_calloc(
			&network->found, network->choice.ids.count + 1, sizeof(struct str)),
		.count = network->choice.ids.count,
	};
	for (size_t i = 0; i < network->choice.ids.count; i++)
		network->found_subnets.items[i] =
			arena_str(&network->found, network->choice.ids.items[i]);
	networks_free(network->networks);
	network->networks = network->new_networks;
	network->new_networks = NULL;
	network->config.settings->networks = network->networks;
	if (!had_subnets && network->found_subnets.count != 0)
		log_event(&EV_NETWORK_FOUND, LOG_TEXT("vpc", network->found_vpc),
			LOG_INT("subnets", network->found_subnets.count));
	network->is_known = true;
	judge(network);
	/* Somebody may be about to tag subnets. */
	if (network->problem[ELB_APPLICATION] != NULL)
		start_timer(network, FRESH_S + backoff_next(&network->backoff));
	else
		backoff_succeeded(&network->backoff);
	tell(network);
}

static void join(struct network *network)
{
	struct request like = {
		.service = network->step == NETWORK_LIMITS ? AWS_ELB : AWS_EC2,
		.action = actions[network->step],
	};
	call_join(&network->call, &like, RANK_CHANGE);
}

static void take_step(struct network *network, enum network_step step)
{
	network->step = step;
	network->token = STR_NONE;
	network->pages = 0;
	join(network);
}

static void begin(struct network *network)
{
	ev_timer_stop(network->config.context->loop, &network->timer);
	arena_reset(&network->work);
	network->list = (struct subnet_list){0};
	network->zones = (struct subnet_zone_list){0};
	network->choice = (struct subnets_choice){0};
	network->vpc = network->config.vpc.len != 0 ? network->config.vpc : STR_NONE;
	network->cidrs = STR_NONE;
	networks_free(network->new_networks);
	network->new_networks = NULL;
	if (network->vpc.len != 0 || has_given(network)) {
		take_step(network, NETWORK_SUBNETS);
	} else if (network->metadata != NULL) {
		network->step = NETWORK_VPC;
		vpc_metadata_start(network->metadata);
	} else {
		fail(network, STR("the VPC is not known: give --vpc-id"), 0);
	}
}

static void on_vpc(void *ctx, const char *vpc, const char *problem)
{
	struct network *network = ctx;
	if (vpc == NULL) {
		struct str text = arena_printf(&network->work,
			"the VPC is not known, because %s; it can be given by --vpc-id", problem);
		fail(network, text, 0);
		return;
	}
	network->vpc = arena_str(&network->work, str_from(vpc));
	take_step(network, NETWORK_SUBNETS);
}

static void choose(struct network *network)
{
	struct subnets_wish wish = {
		.given = network->config.subnets,
		.vpc = network->vpc,
		.tag = role_tag(network),
		.needs_ipv6 = str_eq(network->config.settings->ip_address_type, STR("dualstack")),
		.zones = network->zones,
	};
	subnets_choose(&wish, &network->list, &network->work, &network->choice);
	network->vpc = network->choice.vpc;
	if (network->vpc.len != 0)
		take_step(network, NETWORK_CIDRS);
	else
		take_step(network, NETWORK_LIMITS);
}

static void go_on(struct network *network)
{
	switch (network->step) {
	case NETWORK_SUBNETS:
		if (!has_given(network))
			take_step(network, NETWORK_ZONES);
		else
			choose(network);
		break;
	case NETWORK_ZONES:
		choose(network);
		break;
	case NETWORK_CIDRS:
		take_step(network, NETWORK_LIMITS);
		break;
	case NETWORK_LIMITS:
		publish(network);
		break;
	case NETWORK_IDLE:
	case NETWORK_VPC:
		break;
	}
}

/* ---- calls ---- */

static void put_subnets(const struct network *network, struct params *params)
{
	if (has_given(network)) {
		for (size_t i = 0; i < network->config.subnets.count; i++)
			params_add(params, network->config.subnets.items[i], "SubnetId.%zu", i + 1);
		return;
	}
	struct arena arena;
	arena_init(&arena);
	params_add(params, STR("vpc-id"), "Filter.1.Name");
	params_add(params, network->vpc, "Filter.1.Value.1");
	params_add(params, arena_printf(&arena, "tag:%s", role_tag(network)), "Filter.2.Name");
	params_add(params, STR("1"), "Filter.2.Value.1");
	params_add(params, STR(""), "Filter.2.Value.2");
	params_add(params, network->token, "NextToken");
	arena_fini(&arena);
}

static bool make_request(void *ctx, struct arena *arena, struct request *ret_request)
{
	struct network *network = ctx;
	struct params params;
	if (network->step == NETWORK_LIMITS) {
		requests_account_limits(network->token, arena, ret_request);
		return true;
	}
	params_begin(&params, AWS_EC2, actions[network->step]);
	if (network->step == NETWORK_SUBNETS)
		put_subnets(network, &params);
	else if (network->step == NETWORK_CIDRS)
		params_add(&params, network->vpc, "VpcId.1");
	*ret_request = (struct request){
		.service = AWS_EC2,
		.action = actions[network->step],
		.body = params_end(&params, arena),
	};
	return true;
}

/* The token of a further page; absent: there is none. */
static struct str read_answer(struct network *network, const struct xml *xml)
{
	const struct settings *settings = network->config.settings;
	switch (network->step) {
	case NETWORK_SUBNETS:
		return subnets_read(xml, settings->cluster, &network->work, &network->list);
	case NETWORK_ZONES:
		subnets_read_zones(xml, &network->work, &network->zones);
		return STR_NONE;
	case NETWORK_CIDRS:
		networks_free(network->new_networks);
		network->new_networks = networks_new();
		network->cidrs = subnets_read_networks(xml, network->new_networks, &network->work);
		return STR_NONE;
	case NETWORK_LIMITS:
		return arena_str(&network->work, limits_read(xml, network->config.settings));
	case NETWORK_IDLE:
	case NETWORK_VPC:
		break;
	}
	return STR_NONE;
}

/* Without the kinds of zones, the networks and the quotas it goes on: the credentials may not be allowed to see them. */
static bool may_skip(const struct network *network, enum aws_outcome outcome)
{
	bool is_final = outcome == AWS_DENIED || outcome == AWS_REFUSED || outcome == AWS_NOT_FOUND;
	return is_final && network->step != NETWORK_SUBNETS;
}

static void on_answer(void *ctx, const struct client_answer *answer)
{
	struct network *network = ctx;
	if (answer->outcome != AWS_OK) {
		if (may_skip(network, answer->outcome))
			go_on(network);
		else
			fail(network, answer->message, answer->retry_after_s);
		return;
	}
	network->token = read_answer(network, answer->xml);
	if (network->token.len == 0 || ++network->pages == PAGES_MAX) {
		go_on(network);
		return;
	}
	join(network);
}

/* ---- for others ---- */

void network_start(struct network *network)
{
	if (network->step == NETWORK_IDLE)
		begin(network);
}

void network_refresh(struct network *network)
{
	double age_s = clock_monotonic_s() - network->found_at;
	if (network->step != NETWORK_IDLE || ev_is_active(&network->timer))
		return;
	if (network->is_known && age_s < FRESH_S)
		start_timer(network, FRESH_S - age_s);
	else
		begin(network);
}

bool network_is_known(const struct network *network)
{
	return network->is_known;
}

void network_plan(const struct network *network, enum elb_type type, struct plan_network *ret_plan)
{
	*ret_plan = (struct plan_network){
		.vpc = network->found_vpc,
		.security_groups = network->config.security_groups,
		.backend_security_group = network->config.backend_security_group,
		.inbound = network->config.inbound,
	};
	if (network->problem[type] == NULL)
		ret_plan->subnets = network->found_subnets;
}

const char *network_problem(const struct network *network, enum elb_type type)
{
	if (!network->is_known && network->problem[type] == NULL)
		return "the subnets are not known yet";
	return network->problem[type];
}

struct network *network_new(const struct network_config *config)
{
	struct network *network = xcalloc(1, sizeof(*network));
	network->config = *config;
	call_init(&network->call, config->context, make_request, on_answer, network);
	if (config->metadata != NULL)
		network->metadata = vpc_metadata_new(config->metadata, on_vpc, network);
	ev_init(&network->timer, on_timer);
	network->timer.data = network;
	backoff_init(&network->backoff, 1, 150);
	arena_init(&network->work);
	arena_init(&network->found);
	return network;
}

void network_free(struct network *network)
{
	if (network == NULL)
		return;
	call_cancel(&network->call);
	vpc_metadata_free(network->metadata);
	ev_timer_stop(network->config.context->loop, &network->timer);
	network->config.settings->networks = NULL;
	networks_free(network->networks);
	networks_free(network->new_networks);
	for (size_t i = 0; i < sizeof(network->problem) / sizeof(network->problem[0]); i++)
		free(network->problem[i]);
	free(network->told);
	arena_fini(&network->work);
	arena_fini(&network->found);
	free(network);
}

// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/dns.h"

#include "common/backoff.h"
#include "common/xalloc.h"
#include "provider-elb/dns_troubles.h"
#include "provider-elb/log_events.h"
#include "provider-elb/route53.h"

#include <stdlib.h>

enum {
	THROTTLED_MAX = 20, /* times in a row, of one call */
	PAGES_MAX = 2000,   /* of one zone: protects from a list that never ends */
	FAILURES_TOLD = 2,  /* in a row: what goes away by itself is not told */
};

static const double GATHER_S = 0.5; /* changes that follow each other */
static const double RETRY_FIRST_S = 1;
static const double RETRY_CAP_S = 300;

enum phase { PHASE_IDLE, PHASE_LISTING, PHASE_WRITING };

struct dns {
	struct dns_config config;
	struct call call;
	ev_timer gather;
	ev_timer due; /* the next pass, or the next try */
	struct backoff backoff;
	unsigned failures; /* passes in a row */
	char **names;      /* of the zones, as they were told last; NULL: never */
	char *tried;       /* digest of the wishes of the last pass; NULL: there was none */
	struct dns_troubles *told;
	bool is_woken; /* while a pass was under way */
	/* The pass; everything is in the arena. */
	enum phase phase;
	struct arena arena;
	struct records_wishes wishes;
	struct str digest;
	struct str owner;
	struct records_zone *zones;
	bool *is_listed; /* of each zone */
	size_t at;       /* the zone */
	struct route53_place place;
	unsigned pages;
	unsigned throttled; /* times in a row */
	struct records_plan plan;
	size_t done; /* groups of the plan */
	size_t batch;
	size_t batch_max;
	struct dns_troubles *troubles;
	bool has_failed;
};

/* ---- passes ---- */

static void join(struct dns *dns)
{
	static const struct request read = {
		.service = AWS_ROUTE53, .action = "ListResourceRecordSets"};
	static const struct request write = {
		.service = AWS_ROUTE53, .action = "ChangeResourceRecordSets", .is_write = true};
	call_join(&dns->call, dns->phase == PHASE_LISTING ? &read : &write, RANK_CHANGE);
}

static void arm(struct dns *dns, ev_timer *timer, double delay_s)
{
	ev_timer_stop(dns->config.calls->loop, timer);
	ev_timer_set(timer, delay_s, 0.);
	ev_timer_start(dns->config.calls->loop, timer);
}

static void drop_pass(struct dns *dns)
{
	dns->phase = PHASE_IDLE;
	dns_troubles_free(dns->troubles);
	dns->troubles = NULL;
	arena_reset(&dns->arena);
}

static void end_pass(struct dns *dns)
{
	struct dns_troubles *troubles = dns->troubles;
	str_set(&dns->tried, dns->digest);
	dns->failures = dns->has_failed ? dns->failures + 1 : 0;
	if (dns->has_failed) {
		arm(dns, &dns->due, backoff_next(&dns->backoff));
	} else {
		backoff_succeeded(&dns->backoff);
		arm(dns, &dns->due, dns->config.interval_s);
	}
	dns->troubles = NULL;
	drop_pass(dns);
	bool is_news = !dns_troubles_eq(dns->told, troubles);
	dns_troubles_free(dns->told);
	dns->told = troubles;
	if (dns->is_woken)
		arm(dns, &dns->gather, GATHER_S);
	dns->is_woken = false;
	if (is_news)
		dns->config.on_told(dns->config.ctx);
}

static void begin_list(struct dns *dns)
{
	dns->zones[dns->at].name = STR_NONE; /* the list tells it */
	dns->place = (struct route53_place){STR_NONE, STR_NONE, STR_NONE};
	dns->pages = 0;
	join(dns);
}

static void begin_pass(struct dns *dns)
{
	size_t count = dns->config.zones.count;
	dns->phase = PHASE_LISTING;
	dns->owner = records_owner(dns->config.cluster, &dns->arena);
	dns->zones = arena_calloc(&dns->arena, count + 1, sizeof(struct records_zone));
	dns->is_listed = arena_calloc(&dns->arena, count + 1, sizeof(bool));
	for (size_t i = 0; i < count; i++)
		dns->zones[i].id = dns->config.zones.items[i];
	dns->troubles = dns_troubles_new();
	dns->has_failed = false;
	dns->at = 0;
	begin_list(dns);
}

/* `is_due`: also when nothing else is wanted than before. */
static void try_pass(struct dns *dns, bool is_due)
{
	if (dns->phase != PHASE_IDLE) {
		dns->is_woken = true;
		return;
	}
	if (!dns->config.may_start(dns->config.ctx))
		return;
	dns->wishes = (struct records_wishes){.kept = {NULL, 0}};
	dns->config.list_hosts(dns->config.ctx, &dns->arena, &dns->wishes);
	dns->digest = records_digest(&dns->wishes, &dns->arena);
	if (is_due || dns->tried == NULL || !str_eq_c(dns->digest, dns->tried))
		begin_pass(dns);
	else
		arena_reset(&dns->arena);
}

static void on_gather(struct ev_loop *loop, ev_timer *timer, int events)
{
	try_pass(timer->data, false);
}

static void on_due(struct ev_loop *loop, ev_timer *timer, int events)
{
	try_pass(timer->data, true);
}

/* ---- reading and writing ---- */

static const char *zone_name(const struct dns *dns)
{
	return dns->names[dns->at] != NULL ? dns->names[dns->at]
					   : dns->config.zones.items[dns->at].p;
}

static void note_failure(struct dns *dns, struct str reason)
{
	dns->has_failed = true;
	log_event(&EV_DNS_FAILED, LOG_STR("zone", zone_name(dns)), LOG_TEXT("reason", reason));
}

static void add_failed(struct dns *dns, const struct records_wish *wish)
{
	struct records_trouble trouble = {RECORDS_FAILED, wish->lb, wish->ingress, wish->host};
	if (dns->failures + 1 >= FAILURES_TOLD)
		dns_troubles_add(dns->troubles, &trouble);
}

static void add_failed_zone(struct dns *dns)
{
	for (size_t i = 0; i < dns->wishes.hosts.count; i++) {
		if (records_belong(dns->wishes.hosts.items[i].host, dns->zones,
			    dns->config.zones.count, dns->at))
			add_failed(dns, &dns->wishes.hosts.items[i]);
	}
}

/* The next batch, of this zone or another; or the end of the pass. */
static void go_on(struct dns *dns)
{
	while (dns->done == dns->plan.groups.count) {
		dns->at++;
		if (dns->at >= dns->config.zones.count) {
			end_pass(dns);
			return;
		}
		dns->plan = (struct records_plan){.groups = {NULL, 0}};
		dns->done = 0;
		dns->batch_max = SIZE_MAX;
		if (!dns->is_listed[dns->at]) {
			add_failed_zone(dns);
			continue;
		}
		records_plan(dns->zones, dns->config.zones.count, dns->at, &dns->wishes, dns->owner,
			&dns->arena, &dns->plan);
		for (size_t i = 0; i < dns->plan.troubles.count; i++)
			dns_troubles_add(dns->troubles, &dns->plan.troubles.items[i]);
	}
	join(dns);
}

/* All zones are read: which of them a host is in depends on all names. */
static void begin_writing(struct dns *dns)
{
	dns->phase = PHASE_WRITING;
	dns->at = SIZE_MAX; /* go_on() begins with the next */
	dns->plan = (struct records_plan){.groups = {NULL, 0}};
	dns->done = 0;
	go_on(dns);
}

static void end_list(struct dns *dns, bool is_good)
{
	struct records_zone *zone = &dns->zones[dns->at];
	dns->is_listed[dns->at] = is_good;
	if (is_good)
		str_set(&dns->names[dns->at], zone->name);
	else
		zone->name = str_from(dns->names[dns->at]);
	dns->at++;
	if (dns->at < dns->config.zones.count)
		begin_list(dns);
	else
		begin_writing(dns);
}

static void take_page(struct dns *dns, const struct client_answer *answer)
{
	struct records_zone *zone = &dns->zones[dns->at];
	struct str problem = answer->message;
	if (answer->outcome == AWS_OK)
		problem = str_from(route53_read_page(answer->xml, &dns->arena, zone, &dns->place));
	bool has_more = problem.p == NULL && dns->place.name.p != NULL;
	if (has_more && ++dns->pages == PAGES_MAX)
		problem = STR("the list of its records does not end");
	else if (problem.p == NULL && !has_more && zone->name.p == NULL)
		problem = STR("it has no SOA record, which would tell its name");
	if (problem.p != NULL)
		note_failure(dns, problem);
	if (problem.p == NULL && has_more)
		join(dns);
	else
		end_list(dns, problem.p == NULL);
}

static bool is_refusal(enum aws_outcome outcome)
{
	return outcome == AWS_REFUSED || outcome == AWS_EXISTS || outcome == AWS_QUOTA ||
	       outcome == AWS_IN_USE;
}

/* Those of the plan that are not written now. */
static void give_up(struct dns *dns, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct records_wish *wish = dns->plan.groups.items[dns->done + i].wish;
		if (wish != NULL)
			add_failed(dns, wish);
	}
	dns->done += count;
}

static void take_changed(struct dns *dns, const struct client_answer *answer)
{
	if (answer->outcome == AWS_OK) {
		log_event(&EV_DNS_CHANGED, LOG_STR("zone", zone_name(dns)),
			LOG_INT("names", dns->batch));
		dns->done += dns->batch;
		dns->batch_max = dns->batch_max > SIZE_MAX / 2 ? SIZE_MAX : dns->batch_max * 2;
	} else if (is_refusal(answer->outcome) && dns->batch > 1) {
		dns->batch_max = dns->batch / 2;
	} else {
		note_failure(dns, answer->message);
		give_up(dns, is_refusal(answer->outcome) ? 1 : dns->plan.groups.count - dns->done);
	}
	go_on(dns);
}

static bool on_turn(void *ctx, struct arena *arena, struct request *ret_request)
{
	struct dns *dns = ctx;
	struct str zone = dns->config.zones.items[dns->at];
	if (dns->phase == PHASE_LISTING) {
		route53_list(zone, &dns->place, arena, ret_request);
		return true;
	}
	dns->batch = records_batch(&dns->plan, dns->done, dns->batch_max);
	route53_change(zone, dns->plan.groups.items + dns->done, dns->batch, arena, ret_request);
	return true;
}

static void on_answer(void *ctx, const struct client_answer *answer)
{
	struct dns *dns = ctx;
	/* The queue lets it wait: what was read until now is not read again. */
	if (answer->outcome == AWS_THROTTLED && ++dns->throttled < THROTTLED_MAX) {
		join(dns);
		return;
	}
	dns->throttled = 0;
	if (dns->phase == PHASE_LISTING)
		take_page(dns, answer);
	else
		take_changed(dns, answer);
}

/* ---- lifecycle ---- */

struct dns *dns_new(const struct dns_config *config)
{
	struct dns *dns = xcalloc(1, sizeof(*dns));
	dns->config = *config;
	dns->names = xcalloc(config->zones.count + 1, sizeof(char *));
	call_init(&dns->call, config->calls, on_turn, on_answer, dns);
	ev_init(&dns->gather, on_gather);
	ev_init(&dns->due, on_due);
	dns->gather.data = dns->due.data = dns;
	backoff_init(&dns->backoff, RETRY_FIRST_S, RETRY_CAP_S);
	arena_init(&dns->arena);
	dns->told = dns_troubles_new();
	return dns;
}

void dns_free(struct dns *dns)
{
	if (dns == NULL)
		return;
	call_cancel(&dns->call);
	ev_timer_stop(dns->config.calls->loop, &dns->gather);
	ev_timer_stop(dns->config.calls->loop, &dns->due);
	dns_troubles_free(dns->troubles);
	dns_troubles_free(dns->told);
	for (size_t i = 0; i < dns->config.zones.count; i++)
		free(dns->names[i]);
	free(dns->names);
	free(dns->tried);
	arena_fini(&dns->arena);
	free(dns);
}

void dns_wake(struct dns *dns)
{
	if (dns != NULL && !ev_is_active(&dns->gather))
		arm(dns, &dns->gather, GATHER_S);
}

void dns_on_commit(struct dns *dns, const struct state_commit *commit)
{
	/* Endpoints and certificates change all the time, and have no hosts. */
	bool has_hosts = commit->is_snapshot;
	for (size_t i = 0; !has_hosts && i < commit->change_count; i++) {
		enum lb_kind kind = object_kind(commit->changes[i].object);
		has_hosts = kind == LB_VIRTUAL_HOST || kind == LB_LOAD_BALANCER;
	}
	if (has_hosts)
		dns_wake(dns);
}

void dns_restart(struct dns *dns)
{
	if (dns == NULL)
		return;
	call_cancel(&dns->call);
	ev_timer_stop(dns->config.calls->loop, &dns->due);
	drop_pass(dns);
	str_set(&dns->tried, STR_NONE);
}

bool dns_is_behind(const struct dns *dns, struct str lb)
{
	return dns != NULL && dns_troubles_has_failed(dns->told, lb);
}

size_t dns_notices(
	const struct dns *dns, struct str lb, struct arena *arena, struct lb_notice **ret_list)
{
	return dns != NULL ? dns_troubles_notices(dns->told, lb, arena, ret_list) : 0;
}

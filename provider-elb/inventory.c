// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/inventory.h"

#include "common/backoff.h"
#include "common/clock.h"
#include "common/xalloc.h"
#include "provider-elb/discovery.h"
#include "provider-elb/log_events.h"
#include "provider-elb/poller.h"
#include "provider-elb/requests.h"

#include <stdlib.h>

enum {
	PAGES_MAX = 10000, /* of one pass: protects from markers that never end */
	OTHERS_MAX = 4000, /* resources with a name like ours and unknown tags, in one pass */
};

static const double RETRY_FIRST_S = 1;
static const double RETRY_CAP_S = 60;
/* Between passes that somebody has asked for: many may ask, again and again. */
static const double LIST_APART_S = 5;

/* What one pass reads, in this order: hints first, then what confirms them. */
enum phase {
	PHASE_TAGGED, /* the tagging API: what has our tag */
	PHASE_BALANCERS,
	PHASE_GROUPS,
	PHASE_OTHERS, /* tags of what the tagging API did not list yet */
	PHASE_SECURITY_GROUPS,
	PHASE_COUNT,
};

struct inventory {
	struct inventory_config config;
	struct poller *poller;
	struct call call;
	ev_timer timer; /* the next pass, or the next try */
	struct backoff backoff;
	enum phase phase;
	char *marker;
	unsigned pages;
	uint64_t pass;     /* 1 is the first */
	uint64_t complete; /* the last pass that was */
	uint64_t losses;
	double ended_at; /* clock_monotonic_s(), of the last pass */
	bool is_started;
	bool is_running;
	bool is_wanted_again; /* a pass was asked for while one was under way */
	bool is_known;
	bool has_found; /* the pass has found something that has to be confirmed by another */
	/* ARNs whose tags are to be read; texts on the heap. */
	struct str_list others;
	size_t others_done;
	size_t singly; /* so many of the next ones are asked for one by one: one of them is gone */
	char *problem;
};

/* ---- others ---- */

static void free_others(struct inventory *inventory)
{
	for (size_t i = 0; i < inventory->others.count; i++)
		free((char *)(uintptr_t)inventory->others.items[i].p);
	free(inventory->others.items);
	inventory->others = (struct str_list){NULL, 0};
	inventory->others_done = inventory->singly = 0;
}

/* The tagging API lags: what has a name like ours may be ours. */
static void on_other(void *ctx, struct str arn, struct str name)
{
	struct inventory *inventory = ctx;
	if (!discovery_is_our_name(name) || inventory->others.count == OTHERS_MAX)
		return;
	inventory->others.items = xreallocarray(
		inventory->others.items, inventory->others.count + 1, sizeof(struct str));
	inventory->others.items[inventory->others.count++] = (struct str){str_dup(arn), arn.len};
}

static struct str_list next_others(const struct inventory *inventory)
{
	size_t left = inventory->others.count - inventory->others_done;
	size_t most = inventory->singly != 0 ? 1 : REQUESTS_TAGS_MAX;
	return (struct str_list){
		inventory->others.items + inventory->others_done, left < most ? left : most};
}

static void pass_others(struct inventory *inventory, size_t count)
{
	inventory->others_done += count;
	inventory->singly -= inventory->singly != 0;
}

/* Those whose tags were just read: what is ours has to be confirmed by another pass. */
static void note_found(struct inventory *inventory)
{
	struct str_list arns = next_others(inventory);
	for (size_t i = 0; i < arns.count; i++) {
		if (observed_find_balancer(inventory->config.observed, arns.items[i]) != NULL ||
			observed_find_group(inventory->config.observed, arns.items[i]) != NULL)
			inventory->has_found = true;
	}
	pass_others(inventory, arns.count);
}

/* ---- one page after the other ---- */

static bool make(struct inventory *inventory, struct arena *arena, struct request *ret_request)
{
	struct str marker = str_from(inventory->marker);
	struct str cluster = str_from(inventory->config.options->cluster);
	switch (inventory->phase) {
	case PHASE_TAGGED:
		discovery_request(cluster, marker, arena, ret_request);
		return true;
	case PHASE_BALANCERS:
		requests_balancers(marker, arena, ret_request);
		return true;
	case PHASE_GROUPS:
		requests_groups(marker, arena, ret_request);
		return true;
	case PHASE_OTHERS: {
		struct str_list arns = next_others(inventory);
		requests_tags(&arns, arena, ret_request);
		return true;
	}
	case PHASE_SECURITY_GROUPS:
		requests_security_groups(cluster, marker, arena, ret_request);
		return true;
	case PHASE_COUNT:
		break;
	}
	return false;
}

static void join(struct inventory *inventory)
{
	struct request request = {.service = AWS_ELB};
	struct arena arena;
	arena_init(&arena);
	if (make(inventory, &arena, &request))
		call_join(
			&inventory->call, &request, inventory->is_known ? RANK_SWEEP : RANK_CHANGE);
	arena_fini(&arena);
}

static void on_certificate(void *ctx, struct str arn, const struct discovery_tags *tags)
{
	struct inventory *inventory = ctx;
	inventory->config.ops->on_certificate(
		inventory->config.ctx, arn, tags->resource, tags->applied);
}

/* False: it is no such page. */
static bool take_tagged(struct inventory *inventory, const struct json *json, struct arena *arena,
	struct str *ret_token)
{
	return discovery_take(json, str_from(inventory->config.options->cluster),
		       inventory->config.observed, arena, on_certificate, inventory,
		       ret_token) == 0;
}

static bool take(struct inventory *inventory, const struct client_answer *answer,
	struct arena *arena, struct str *ret_marker)
{
	struct observed *observed = inventory->config.observed;
	struct str cluster = str_from(inventory->config.options->cluster);
	uint64_t pass = inventory->pass;
	*ret_marker = STR_NONE;
	switch (inventory->phase) {
	case PHASE_TAGGED:
		return take_tagged(inventory, answer->json, arena, ret_marker);
	case PHASE_BALANCERS:
		*ret_marker =
			answers_balancers(answer->xml, observed, pass, arena, on_other, inventory);
		return true;
	case PHASE_GROUPS:
		*ret_marker =
			answers_groups(answer->xml, observed, pass, arena, on_other, inventory);
		return true;
	case PHASE_OTHERS:
		discovery_take_tags(answer->xml, cluster, observed);
		note_found(inventory);
		return true;
	case PHASE_SECURITY_GROUPS:
		*ret_marker = answers_security_groups(answer->xml, cluster, observed, pass, arena);
		return true;
	case PHASE_COUNT:
		break;
	}
	return true;
}

/* ---- a pass ---- */

static void lose_balancer(struct inventory *inventory, struct observed_balancer *balancer)
{
	struct str lb = {str_dup(str_from(balancer->lb)), strlen(balancer->lb)};
	inventory->losses++;
	observed_forget_balancer(inventory->config.observed, balancer);
	inventory->config.ops->on_changed(inventory->config.ctx, lb);
	free((char *)(uintptr_t)lb.p);
}

static void on_unseen(void *ctx, const struct observed_balancer *balancer)
{
	/* Those that we have deleted ourselves were told. */
	if (!balancer->is_leaving)
		log_event(&EV_BALANCER_GONE, LOG_STR("name", balancer->name));
}

static void start_pass(struct inventory *inventory)
{
	ev_timer_stop(inventory->config.calls->loop, &inventory->timer);
	inventory->pass++;
	observed_begin_pass(inventory->config.observed, inventory->pass);
	inventory->is_running = true;
	inventory->is_wanted_again = inventory->has_found = false;
	inventory->phase = PHASE_TAGGED;
	inventory->pages = 0;
	free(inventory->marker);
	inventory->marker = NULL;
	free_others(inventory);
	join(inventory);
}

static void arm(struct inventory *inventory, double delay_s)
{
	struct ev_loop *loop = inventory->config.calls->loop;
	ev_timer_stop(loop, &inventory->timer);
	ev_timer_set(&inventory->timer, delay_s, 0.);
	ev_timer_start(loop, &inventory->timer);
}

static double apart(const struct inventory *inventory)
{
	double interval_s = inventory->config.options->list_interval;
	return interval_s < LIST_APART_S ? interval_s : LIST_APART_S;
}

static void end_pass(struct inventory *inventory)
{
	inventory->is_running = false;
	inventory->ended_at = clock_monotonic_s();
	backoff_succeeded(&inventory->backoff);
	free(inventory->problem);
	inventory->problem = NULL;
	if (inventory->has_found) {
		/* It is in no page yet that was read with its tags known. */
		start_pass(inventory);
		return;
	}
	inventory->losses += observed_forget_unseen(
		inventory->config.observed, inventory->pass, on_unseen, NULL);
	inventory->complete = inventory->pass;
	if (!inventory->is_known)
		log_event(&EV_LISTED);
	inventory->is_known = true;
	inventory->config.ops->on_certificates_end(inventory->config.ctx);
	inventory->config.ops->on_listed(inventory->config.ctx);
	inventory->config.ops->on_progress(inventory->config.ctx);
	poller_start(inventory->poller);
	/* Unless one of them has begun another one already. */
	if (!inventory->is_running)
		arm(inventory, inventory->is_wanted_again
				       ? apart(inventory)
				       : inventory->config.options->list_interval);
}

static void next_phase(struct inventory *inventory)
{
	inventory->phase++;
	if (inventory->phase == PHASE_OTHERS && inventory->others.count == 0)
		inventory->phase++;
	if (inventory->phase == PHASE_COUNT)
		end_pass(inventory);
	else
		join(inventory);
}

static void fail(struct inventory *inventory, struct str reason)
{
	inventory->is_running = false;
	free(inventory->problem);
	inventory->problem = str_dup(reason);
	log_event(&EV_LIST_FAILED, LOG_TEXT("reason", reason));
	inventory->config.ops->on_progress(inventory->config.ctx);
	arm(inventory, backoff_next(&inventory->backoff));
}

static void take_page(struct inventory *inventory, const struct client_answer *answer)
{
	struct arena arena;
	if (++inventory->pages > PAGES_MAX) {
		fail(inventory, STR("the lists of AWS have no end"));
		return;
	}
	arena_init(&arena);
	struct str marker;
	bool is_good = take(inventory, answer, &arena, &marker);
	free(inventory->marker);
	inventory->marker = marker.len != 0 ? str_dup(marker) : NULL;
	arena_fini(&arena);
	if (!is_good) {
		fail(inventory, STR("an answer of the tagging API makes no sense"));
		return;
	}
	bool has_more = inventory->marker != NULL ||
			(inventory->phase == PHASE_OTHERS &&
				inventory->others_done < inventory->others.count);
	if (has_more)
		join(inventory);
	else
		next_phase(inventory);
}

/* One of them has gone since, and the whole answer with it. */
static void skip_others(struct inventory *inventory)
{
	size_t count = next_others(inventory).count;
	if (count > 1)
		inventory->singly = count;
	else
		pass_others(inventory, count);
	if (inventory->others_done < inventory->others.count)
		join(inventory);
	else
		next_phase(inventory);
}

static void on_answer(void *ctx, const struct client_answer *answer)
{
	struct inventory *inventory = ctx;
	if (answer->outcome == AWS_OK) {
		take_page(inventory, answer);
	} else if (answer->outcome == AWS_THROTTLED || answer->outcome == AWS_OUTAGE) {
		join(inventory);
	} else if (answer->outcome == AWS_NOT_FOUND && inventory->phase == PHASE_OTHERS) {
		skip_others(inventory);
	} else {
		fail(inventory, answer->message);
	}
}

static bool on_turn(void *ctx, struct arena *arena, struct request *ret_request)
{
	return make(ctx, arena, ret_request);
}

static void on_timer(struct ev_loop *loop, ev_timer *timer, int events)
{
	start_pass(timer->data);
}

/* ---- states ---- */

static void on_state(void *ctx, struct str lb)
{
	struct inventory *inventory = ctx;
	inventory->config.ops->on_changed(inventory->config.ctx, lb);
}

static void on_gone(void *ctx, struct observed_balancer *balancer)
{
	lose_balancer(ctx, balancer);
}

void inventory_poll(struct inventory *inventory)
{
	poller_start(inventory->poller);
}

void inventory_poll_gone(struct inventory *inventory, struct str arn)
{
	poller_add_going(inventory->poller, arn);
}

/* ---- questions ---- */

bool inventory_is_known(const struct inventory *inventory)
{
	return inventory->is_known;
}

const char *inventory_problem(const struct inventory *inventory)
{
	return inventory->is_known ? NULL : inventory->problem;
}

const char *inventory_missing_text(const struct inventory *inventory)
{
	if (inventory->is_known)
		return NULL;
	return inventory->problem != NULL ? inventory->problem : "what AWS has of this cluster";
}

void inventory_list_now(struct inventory *inventory)
{
	inventory->is_wanted_again = true;
	/* After a failure the next try comes with back-off. */
	if (!inventory->is_started || inventory->is_running || inventory->problem != NULL)
		return;
	double left_s = inventory->ended_at + apart(inventory) - clock_monotonic_s();
	if (left_s > 0)
		arm(inventory, left_s);
	else
		start_pass(inventory);
}

void inventory_start_over(struct inventory *inventory)
{
	inventory->is_known = false;
	inventory->losses +=
		observed_forget_unseen(inventory->config.observed, UINT64_MAX, NULL, NULL);
	inventory->config.ops->on_progress(inventory->config.ctx);
	if (!inventory->is_started)
		return;
	call_cancel(&inventory->call);
	start_pass(inventory);
}

uint64_t inventory_next_pass(const struct inventory *inventory)
{
	return inventory->pass + 1;
}

uint64_t inventory_complete_pass(const struct inventory *inventory)
{
	return inventory->complete;
}

uint64_t inventory_losses(const struct inventory *inventory)
{
	return inventory->losses;
}

/* ---- lifecycle ---- */

struct inventory *inventory_new(const struct inventory_config *config)
{
	struct inventory *inventory = xcalloc(1, sizeof(*inventory));
	struct poller_config poller_config = {
		.calls = config->calls,
		.observed = config->observed,
		.interval_s = config->options->poll_interval,
		.on_state = on_state,
		.on_gone = on_gone,
		.ctx = inventory,
	};
	inventory->config = *config;
	inventory->poller = poller_new(&poller_config);
	backoff_init(&inventory->backoff, RETRY_FIRST_S, RETRY_CAP_S);
	call_init(&inventory->call, config->calls, on_turn, on_answer, inventory);
	ev_init(&inventory->timer, on_timer);
	inventory->timer.data = inventory;
	return inventory;
}

void inventory_start(struct inventory *inventory)
{
	inventory->is_started = true;
	start_pass(inventory);
}

void inventory_free(struct inventory *inventory)
{
	if (inventory == NULL)
		return;
	poller_free(inventory->poller);
	call_cancel(&inventory->call);
	ev_timer_stop(inventory->config.calls->loop, &inventory->timer);
	free_others(inventory);
	free(inventory->marker);
	free(inventory->problem);
	free(inventory);
}

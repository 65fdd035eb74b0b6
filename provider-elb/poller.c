// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/poller.h"

#include "common/xalloc.h"
#include "provider-elb/requests.h"

#include <stdlib.h>

enum { ARNS_MAX = 20 /* in one DescribeLoadBalancers */ };

struct poller {
	struct poller_config config;
	struct call call;
	ev_timer timer;
	/* ARNs of those that go; texts on the heap. */
	struct str_list going;
	/* One round: what is still to be asked for. */
	struct arena arena;
	struct str_list coming;
	size_t coming_done;
	size_t going_done;
	/* In the call under way: copies, because `going` may grow meanwhile. */
	struct arena asked_arena;
	struct str_list asked;
	bool is_one_by_one; /* one of those that come up is gone: find out which */
};

/* ---- what to ask ---- */

static void list_coming(struct poller *poller)
{
	struct observed_balancer *balancer = observed_next_balancer(poller->config.observed, NULL);
	poller->coming = (struct str_list){NULL, 0};
	for (; balancer != NULL;
		balancer = observed_next_balancer(poller->config.observed, balancer)) {
		if (balancer->name == NULL || balancer->is_leaving ||
			balancer->state != ELB_PROVISIONING)
			continue;
		struct str *place = arena_push(&poller->arena, (void **)&poller->coming.items,
			&poller->coming.count, sizeof(struct str));
		*place = arena_str(&poller->arena, str_from(balancer->arn));
	}
}

static bool is_asking_going(const struct poller *poller)
{
	return poller->coming_done == poller->coming.count;
}

static bool is_round_over(const struct poller *poller)
{
	return is_asking_going(poller) && poller->going_done >= poller->going.count;
}

static void choose_batch(struct poller *poller)
{
	size_t left = poller->coming.count - poller->coming_done;
	size_t most = poller->is_one_by_one ? 1 : ARNS_MAX;
	const struct str *from = poller->coming.items + poller->coming_done;
	size_t count = left < most ? left : most;
	if (is_asking_going(poller)) {
		from = poller->going.items + poller->going_done;
		count = 1;
	}
	arena_reset(&poller->asked_arena);
	poller->asked.items = arena_calloc(&poller->asked_arena, count, sizeof(struct str));
	poller->asked.count = count;
	for (size_t i = 0; i < count; i++)
		poller->asked.items[i] = arena_str(&poller->asked_arena, from[i]);
}

static void join(struct poller *poller)
{
	static const struct request like = {.service = AWS_ELB, .action = "DescribeLoadBalancers"};
	call_join(&poller->call, &like, RANK_POLL);
}

static void arm(struct poller *poller)
{
	if (ev_is_active(&poller->timer) || call_is_active(&poller->call))
		return;
	ev_timer_set(&poller->timer, poller->config.interval_s, 0.);
	ev_timer_start(poller->config.calls->loop, &poller->timer);
}

static void end_round(struct poller *poller)
{
	arena_reset(&poller->arena);
	list_coming(poller);
	poller->is_one_by_one = false;
	if (poller->coming.count != 0 || poller->going.count != 0)
		arm(poller);
}

/* ---- answers ---- */

static void forget_going(struct poller *poller, size_t at)
{
	free((char *)(uintptr_t)poller->going.items[at].p);
	poller->going.items[at] = poller->going.items[--poller->going.count];
}

static void take_gone(struct poller *poller)
{
	struct observed_balancer *balancer =
		observed_find_balancer(poller->config.observed, poller->asked.items[0]);
	if (is_asking_going(poller))
		forget_going(poller, poller->going_done);
	else
		poller->coming_done++;
	if (balancer != NULL)
		poller->config.on_gone(poller->config.ctx, balancer);
}

static void tell_states(struct poller *poller)
{
	struct arena arena;
	arena_init(&arena);
	struct str *lbs = arena_calloc(&arena, poller->asked.count + 1, sizeof(struct str));
	size_t count = 0;
	for (size_t i = 0; i < poller->asked.count; i++) {
		struct observed_balancer *balancer =
			observed_find_balancer(poller->config.observed, poller->asked.items[i]);
		if (balancer != NULL && balancer->state != ELB_PROVISIONING)
			lbs[count++] = arena_str(&arena, str_from(balancer->lb));
	}
	for (size_t i = 0; i < count; i++)
		poller->config.on_state(poller->config.ctx, lbs[i]);
	arena_fini(&arena);
}

static void take_states(struct poller *poller, const struct xml *xml)
{
	struct arena arena;
	arena_init(&arena);
	/* seen_in stays: this is no pass. */
	answers_balancers(xml, poller->config.observed, 0, &arena, NULL, NULL);
	arena_fini(&arena);
	tell_states(poller);
	if (is_asking_going(poller))
		poller->going_done++;
	else
		poller->coming_done += poller->asked.count;
}

static void go_on(struct poller *poller)
{
	if (is_round_over(poller))
		end_round(poller);
	else
		join(poller);
}

static void on_answer(void *ctx, const struct client_answer *answer)
{
	struct poller *poller = ctx;
	if (answer->outcome == AWS_OK) {
		take_states(poller, answer->xml);
	} else if (answer->outcome == AWS_NOT_FOUND && poller->asked.count == 1) {
		take_gone(poller);
	} else if (answer->outcome == AWS_NOT_FOUND) {
		poller->is_one_by_one = true;
	} else if (answer->outcome != AWS_THROTTLED && answer->outcome != AWS_OUTAGE) {
		/* Asked again in the next round. */
		end_round(poller);
		return;
	}
	go_on(poller);
}

static bool on_turn(void *ctx, struct arena *arena, struct request *ret_request)
{
	struct poller *poller = ctx;
	choose_batch(poller);
	requests_balancers_by_arn(&poller->asked, arena, ret_request);
	return true;
}

static void on_timer(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct poller *poller = timer->data;
	arena_reset(&poller->arena);
	list_coming(poller);
	poller->coming_done = poller->going_done = 0;
	go_on(poller);
}

/* ---- lifecycle ---- */

void poller_start(struct poller *poller)
{
	arm(poller);
}

void poller_add_going(struct poller *poller, struct str arn)
{
	for (size_t i = 0; i < poller->going.count; i++) {
		if (str_eq(poller->going.items[i], arn))
			return;
	}
	poller->going.items =
		xreallocarray(poller->going.items, poller->going.count + 1, sizeof(struct str));
	poller->going.items[poller->going.count++] = (struct str){str_dup(arn), arn.len};
	arm(poller);
}

struct poller *poller_new(const struct poller_config *config)
{
	struct poller *poller = xcalloc(1, sizeof(*poller));
	poller->config = *config;
	arena_init(&poller->arena);
	arena_init(&poller->asked_arena);
	call_init(&poller->call, config->calls, on_turn, on_answer, poller);
	ev_init(&poller->timer, on_timer);
	poller->timer.data = poller;
	return poller;
}

void poller_free(struct poller *poller)
{
	if (poller == NULL)
		return;
	call_cancel(&poller->call);
	ev_timer_stop(poller->config.calls->loop, &poller->timer);
	while (poller->going.count != 0)
		forget_going(poller, poller->going.count - 1);
	free(poller->going.items);
	arena_fini(&poller->arena);
	arena_fini(&poller->asked_arena);
	free(poller);
}

// SPDX-License-Identifier: Apache-2.0
#include "provider-rancher/balancer_reconcile.h"

#include "common/clock.h"
#include "common/must.h"
#include "provider-rancher/balancer_answer.h"
#include "provider-rancher/balancer_plan.h"
#include "provider-rancher/balancer_send.h"
#include "provider-rancher/balancer_wanted.h"
#include "provider-rancher/log_events.h"
#include "provider-rancher/registry.h"

/* ---- the queue and the timer ---- */

static void drive(struct balancer *balancer, enum lb_fsm_event event);

static void on_turn(struct queue_entry *entry)
{
	struct work *work = (struct work *)(void *)((char *)entry - offsetof(struct work, entry));
	drive(work->balancer, LB_EVENT_TURN);
}

static void on_timer(struct ev_loop *loop, ev_timer *timer, int events)
{
	drive(timer->data, LB_EVENT_TIMER);
}

static void join_queue(struct balancer *balancer)
{
	balancer->work->entry.on_turn = on_turn;
	request_queue_join(balancer->context->client->queue, &balancer->work->entry, false);
}

static void stop_timer(struct balancer *balancer)
{
	ev_timer_stop(balancer->context->client->loop, &balancer->work->timer);
}

static void start_timer(struct balancer *balancer, double delay_s)
{
	stop_timer(balancer);
	ev_timer_init(&balancer->work->timer, on_timer, delay_s, 0.);
	ev_timer_start(balancer->context->client->loop, &balancer->work->timer);
}

/* ---- responses ---- */

static void on_answer(void *ctx, const struct api_answer *answer)
{
	struct balancer *balancer = ctx;
	balancer->work->request = NULL;
	client_note_answer(balancer->context->client, &balancer->work->entry, answer);
	drive(balancer, balancer_take_answer(balancer, answer));
}

/* ---- the state machine ---- */

/* An event may have shown a later state than the response to our own request. */
static bool was_overtaken(struct balancer *balancer)
{
	bool look = balancer->is_overtaken && balancer->row != NULL &&
		    !server_state_lasts(balancer->row->state);
	balancer->is_overtaken = false;
	if (look)
		balancer->must_read = true;
	return look;
}

void balancer_forget(struct balancer *balancer)
{
	must(balancer->object == NULL);
	address_hold_end(balancer->context->hold, &balancer->shown);
	registry_remove(balancer->context->registry, balancer);
	balancer_free(balancer);
}

/* Performs an action. Returns whether it is followed by another event, in *ret_event. */
static bool act(struct balancer *balancer, enum lb_fsm_action action, enum lb_fsm_event *ret_event)
{
	switch (action) {
	case LB_ACTION_BUG:
		must(false);
	case LB_ACTION_NONE:
		return false;
	case LB_ACTION_REPLAN:
		stop_timer(balancer);
		[[fallthrough]];
	case LB_ACTION_PLAN:
		*ret_event = balancer_plan(balancer);
		return true;
	case LB_ACTION_QUEUE:
		join_queue(balancer);
		return false;
	case LB_ACTION_SEND:
		balancer_send(balancer, on_answer);
		return false;
	case LB_ACTION_RETURN:
		balancer_end_turn(balancer);
		*ret_event = LB_EVENT_NEWS;
		return was_overtaken(balancer);
	case LB_ACTION_REQUEUE:
		balancer_end_turn(balancer);
		join_queue(balancer);
		balancer_tell(balancer);
		return false;
	case LB_ACTION_ARM:
		balancer_end_turn(balancer);
		start_timer(balancer, balancer->work->plan.delay_s);
		return false;
	case LB_ACTION_RETRY:
		balancer_end_turn(balancer);
		start_timer(balancer, backoff_next(&balancer->work->failure->backoff));
		balancer_tell(balancer);
		return false;
	case LB_ACTION_FREE:
		balancer_forget(balancer);
		return false;
	}
	must(false);
}

static void drive(struct balancer *balancer, enum lb_fsm_event event)
{
	bool goes_on = true;
	(void)balancer_work(balancer);
	while (goes_on) {
		struct lb_fsm_move move = lb_fsm_next((enum lb_fsm_state)balancer->state, event);
		balancer->state = (uint8_t)move.next;
		goes_on = act(balancer, move.action, &event);
		if (move.action == LB_ACTION_FREE)
			return;
	}
	balancer_rest(balancer);
}

/* ---- events ---- */

/* Nothing is planned before the current state is known. */
static bool may_act(const struct balancer *balancer)
{
	return inventory_is_known(balancer->context->inventory);
}

void balancer_on_news(struct balancer *balancer)
{
	if (may_act(balancer))
		drive(balancer, LB_EVENT_NEWS);
}

void balancer_on_change(struct balancer *balancer)
{
	balancer->was_settled = balancer->is_settled = false;
	/* What looked like drift may have been an event from before our own last write: a change is not planned upon that. */
	if (balancer->is_drift && !balancer->drift_is_read)
		balancer->must_read = true;
	balancer->is_drift = balancer->drift_is_read = false;
	balancer_tell(balancer);
	if (may_act(balancer))
		drive(balancer, LB_EVENT_CHANGE);
}

/* It matched, and does not any more: somebody else, or the server, has changed it. */
static void check_drift(struct balancer *balancer)
{
	const struct balancer_context *context = balancer->context;
	if (!balancer->was_settled || balancer->is_drift || !balancer_is_described(balancer) ||
		balancer->state == LB_FSM_BUSY || !balancer->has_wanted ||
		facets_differ(balancer_wanted(balancer), &balancer->row->facets) == 0)
		return;
	balancer->is_drift = true;
	balancer_work(balancer)->drift_since = clock_monotonic_s();
	log_event(&EV_BALANCER_DRIFT, LOG_STR("lb", balancer->identity),
		LOG_STR("name", balancer->row->name));
	/* When a Service is deleted the server removes its rules. */
	balancer->has_wanted = false;
	inventory_invalidate_services(context->inventory);
}

void balancer_on_row(struct balancer *balancer, unsigned changes)
{
	if (balancer->row->state == SERVER_STATE_REMOVED) {
		balancer_on_row_gone(balancer);
		balancer_on_news(balancer);
		return;
	}
	if ((changes & ROW_FACETS) != 0)
		check_drift(balancer);
	if (changes != 0)
		balancer_on_row_seen(balancer, changes);
	if ((changes & (ROW_STATE | ROW_FACETS)) != 0)
		balancer_on_news(balancer);
}

void balancer_touch(struct balancer *balancer)
{
	if (balancer->object == NULL)
		return;
	bool is_changed = balancer_rebuild(balancer);
	balancer_tell(balancer);
	if (is_changed)
		balancer_on_change(balancer);
	else
		balancer_on_news(balancer);
}

bool balancer_overtake(struct balancer *balancer)
{
	balancer->is_overtaken = balancer->state == LB_FSM_BUSY;
	return balancer->is_overtaken;
}

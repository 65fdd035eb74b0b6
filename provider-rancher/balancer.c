// SPDX-License-Identifier: Apache-2.0
#include "provider-rancher/balancer.h"

#include "common/clock.h"
#include "common/must.h"
#include "common/shared_text.h"
#include "common/slab.h"
#include "common/xalloc.h"
#include "provider-rancher/log_events.h"
#include "provider-rancher/registry.h"
#include "provider-rancher/client.h"

static void drive(struct balancer *balancer, enum lb_fsm_event event);

/* ---- work ---- */

static void on_turn(struct queue_entry *entry)
{
	struct work *work = (struct work *)(void *)((char *)entry - offsetof(struct work, entry));
	drive(work->balancer, LB_EVENT_TURN);
}

static void on_timer(struct ev_loop *loop, ev_timer *timer, int events)
{
	(void)loop;
	(void)events;
	drive(timer->data, LB_EVENT_TIMER);
}

/* From malloc: many begin at once, and end soon. */
struct work *balancer_work(struct balancer *balancer)
{
	struct work *work = balancer->work;
	if (work != NULL)
		return work;
	work = xcalloc(1, sizeof(*work));
	work->balancer = balancer;
	work->entry.on_turn = on_turn;
	ev_init(&work->timer, on_timer);
	work->timer.data = balancer;
	balancer->work = work;
	return work;
}

unsigned balancer_needs(const struct balancer *balancer)
{
	return balancer->work != NULL ? balancer->work->plan.needs : 0;
}

static void stop_timer(struct balancer *balancer)
{
	ev_timer_stop(balancer->context->client->loop, &balancer->work->timer);
}

static void start_timer(struct balancer *balancer, double delay_s)
{
	stop_timer(balancer);
	ev_timer_set(&balancer->work->timer, delay_s, 0.);
	ev_timer_start(balancer->context->client->loop, &balancer->work->timer);
}

static void end_turn(struct balancer *balancer)
{
	request_queue_leave(balancer->context->client->queue, &balancer->work->entry);
	json_free(balancer->work->fresh);
	balancer->work->fresh = NULL;
}

static void drop_failure(struct work *work)
{
	if (work->failure == NULL)
		return;
	free(work->failure->text);
	free(work->failure);
	work->failure = NULL;
}

static void drop_removal_event(struct work *work)
{
	if (work->removal_event == NULL)
		return;
	arena_fini(&work->removal_event->arena);
	free(work->removal_event);
	work->removal_event = NULL;
}

static void end_work(struct balancer *balancer)
{
	if (balancer->work == NULL)
		return;
	api_cancel(balancer->work->request);
	end_turn(balancer);
	stop_timer(balancer);
	drop_failure(balancer->work);
	drop_removal_event(balancer->work);
	shared_text_drop(balancer->work->tried_name);
	free(balancer->work);
	balancer->work = NULL;
}

/* Ends the work when nothing of it will be needed. */
static void rest(struct balancer *balancer)
{
	if (balancer->state == LB_FSM_IDLE && balancer->is_settled &&
		balancer_needs(balancer) == 0 && balancer->object != NULL)
		end_work(balancer);
}

bool balancer_rebuild(struct balancer *balancer)
{
	bool is_changed = balancer_work_out_wanted(balancer);
	if (!is_changed)
		rest(balancer);
	return is_changed;
}

/* ---- planning ---- */

static unsigned missing(const struct balancer *balancer)
{
	unsigned needs = inventory_lacks(balancer->context->inventory);
	if (balancer->waits_for_services)
		needs |= PLAN_NEED_SERVICES;
	if (balancer->waits_for_certificates)
		needs |= PLAN_NEED_CERTIFICATES;
	return needs;
}

static void note_settled(struct balancer *balancer)
{
	balancer->was_settled = true;
	balancer->is_drift = balancer->drift_is_read = false;
	balancer->work->waiting_since = 0;
	if (balancer->work->failure != NULL)
		log_event(&EV_BALANCER_RECOVERED, LOG_STR("lb", balancer->identity));
	drop_failure(balancer->work);
}

static struct plan plan_for(struct balancer *balancer)
{
	const struct balancer_context *context = balancer->context;
	struct work *work = balancer->work;
	double now = clock_monotonic_s();
	if (balancer->object != NULL && !balancer->has_wanted)
		balancer_work_out_wanted(balancer);
	bool is_leaving = false;
	if (balancer->object != NULL && balancer->is_absent && balancer->row == NULL)
		is_leaving = registry_find_leftover(context->registry, balancer);
	if (balancer->row == NULL && work->waiting_since <= 0)
		work->waiting_since = now;
	struct plan_input in = {
		.wanted = balancer_is_described(balancer) ? balancer_wanted(balancer) : NULL,
		.row = balancer->row,
		.missing = missing(balancer),
		.now = now,
		.waiting_since = work->waiting_since,
		.is_fresh = work->fresh != NULL,
		.is_repeat = balancer->is_repeat,
		.must_read = balancer->must_read,
		.is_drift = balancer->is_drift,
		.drift_since = work->drift_since,
		.drift_is_read = balancer->drift_is_read,
		.is_absent = balancer->object != NULL && balancer->is_absent,
		.is_leaving = is_leaving,
		.is_kept = balancer->object != NULL && balancer->is_kept,
		.is_empty = balancer->is_empty,
	};
	return plan_next(&in);
}

/* Plans, and says what that means for the state machine. */
static enum lb_fsm_event make_plan(struct balancer *balancer)
{
	const struct balancer_context *context = balancer->context;
	struct lb_name name;
	struct plan plan = plan_for(balancer);
	/* A list that missed a row may have been followed by one that has it. */
	if (plan.step == PLAN_CREATE && registry_claim_row(context->registry, balancer))
		plan = plan_for(balancer);
	if (plan.step == PLAN_CREATE && !registry_find_name(context->registry, balancer, &name))
		plan = (struct plan){.step = PLAN_LATER, .delay_s = 1};
	balancer->work->plan = plan;
	balancer->is_settled = plan.is_settled;
	if (plan.needs != 0)
		inventory_need(context->inventory, plan.needs);
	if (plan.is_settled)
		note_settled(balancer);
	balancer_tell(balancer);
	switch (plan.step) {
	case PLAN_NOTHING:
		return LB_EVENT_REST;
	case PLAN_LATER:
		return LB_EVENT_LATER;
	case PLAN_FORGET:
		return LB_EVENT_END;
	case PLAN_CREATE:
	case PLAN_READ:
	case PLAN_UPDATE:
	case PLAN_ACTIVATE:
	case PLAN_REMOVE:
		return LB_EVENT_STEP;
	}
	must(false);
}

/* ---- the state machine ---- */

/* An event may have told of a later state than the answer to our own request. */
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

/* Carries out an action. Returns whether another event follows at once, in *ret_event. */
static bool act(struct balancer *balancer, enum lb_fsm_action action, enum lb_fsm_event *ret_event)
{
	const struct balancer_context *context = balancer->context;
	switch (action) {
	case LB_ACTION_BUG:
		must(false);
	case LB_ACTION_NONE:
		return false;
	case LB_ACTION_REPLAN:
		stop_timer(balancer);
		[[fallthrough]];
	case LB_ACTION_PLAN:
		*ret_event = make_plan(balancer);
		return true;
	case LB_ACTION_QUEUE:
		request_queue_join(context->client->queue, &balancer->work->entry, false);
		return false;
	case LB_ACTION_SEND:
		balancer_send(balancer);
		return false;
	case LB_ACTION_RETURN:
		end_turn(balancer);
		*ret_event = LB_EVENT_NEWS;
		return was_overtaken(balancer);
	case LB_ACTION_REQUEUE:
		end_turn(balancer);
		request_queue_join(context->client->queue, &balancer->work->entry, false);
		balancer_tell(balancer);
		return false;
	case LB_ACTION_ARM:
		end_turn(balancer);
		start_timer(balancer, balancer->work->plan.delay_s);
		return false;
	case LB_ACTION_RETRY:
		end_turn(balancer);
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
	rest(balancer);
}

/* Nothing is planned before it is known what is there. */
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
	balancer->is_drift = balancer->drift_is_read = false;
	balancer_tell(balancer);
	if (may_act(balancer))
		drive(balancer, LB_EVENT_CHANGE);
}

void balancer_on_answer(void *ctx, const struct api_answer *answer)
{
	struct balancer *balancer = ctx;
	balancer->work->request = NULL;
	client_note_answer(balancer->context->client, &balancer->work->entry, answer);
	drive(balancer, balancer_take_answer(balancer, answer));
}

/* ---- rows ---- */

void balancer_claim(struct balancer *balancer, struct lb_row *row)
{
	must(balancer->row == NULL);
	observed_claim(balancer->context->observed, row, balancer);
	balancer->row = row;
	if (balancer->work != NULL)
		balancer->work->waiting_since = 0;
	balancer->must_read = balancer->is_name_taken = balancer->is_removal_told = false;
}

static void take_addresses(struct balancer *balancer)
{
	const struct balancer_context *context = balancer->context;
	const struct endpoint_set *set = balancer->row != NULL ? balancer->row->endpoints : NULL;
	if (balancer->is_absent && balancer->row == NULL) {
		/* That it has none is as wanted; one that is made later has its own. */
		address_hold_end(context->hold, &balancer->shown);
		shown_fini(&balancer->shown);
		balancer->shown = (struct shown){.last = NULL};
		balancer_tell(balancer);
		return;
	}
	switch (shown_update(&balancer->shown, set, clock_monotonic_s())) {
	case SHOWN_SAME:
		break;
	case SHOWN_CHANGED:
		address_hold_end(context->hold, &balancer->shown);
		break;
	case SHOWN_HOLD:
		/* Else nobody is there to be told. */
		if (balancer->object != NULL && !balancer->is_absent)
			address_hold_begin(context->hold, &balancer->shown);
		break;
	}
	/* Also for the host name, which is read from the row. */
	balancer_tell(balancer);
}

void balancer_on_row_gone(struct balancer *balancer)
{
	const struct balancer_context *context = balancer->context;
	struct lb_row *row = balancer->row;
	balancer->row = NULL;
	balancer->must_read = balancer->is_repeat = balancer->was_settled = false;
	balancer->is_drift = balancer->drift_is_read = false;
	observed_release(context->observed, row);
	observed_forget(context->observed, row);
	take_addresses(balancer);
}

void balancer_on_row_seen(struct balancer *balancer, unsigned changes)
{
	if ((changes & ROW_ADDRESSES) != 0)
		take_addresses(balancer);
	balancer_tell(balancer);
}

/* It was as wanted, and is not any more: somebody else, or the server, has changed it. */
static void look_for_drift(struct balancer *balancer)
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
	/* The server takes the rules of a Service away when it goes. */
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
		look_for_drift(balancer);
	if (changes != 0)
		balancer_on_row_seen(balancer, changes);
	if ((changes & (ROW_STATE | ROW_FACETS)) != 0)
		balancer_on_news(balancer);
}

/* ---- life ---- */

struct balancer *balancer_new(const struct balancer_context *context, const char *identity)
{
	struct balancer *balancer = slab_zalloc(sizeof(*balancer));
	balancer->context = context;
	balancer->identity = shared_text_get(str_from(identity));
	return balancer;
}

void balancer_revive(struct balancer *balancer, struct object *object)
{
	must(balancer->object == NULL);
	if (balancer->work != NULL)
		drop_removal_event(balancer->work);
	balancer->object = object;
	balancer->has_wanted = balancer->has_looked = false;
}

void balancer_keep_removal_event(struct balancer *balancer, const struct load_balancer *lb)
{
	struct work *work = balancer_work(balancer);
	if (work->removal_event != NULL)
		return;
	struct removal_event *removal_event = xcalloc(1, sizeof(*removal_event));
	arena_init(&removal_event->arena);
	struct object_ref *owners =
		arena_calloc(&removal_event->arena, lb->owners.count + 1, sizeof(*owners));
	for (size_t i = 0; i < lb->owners.count; i++) {
		owners[i].namespace =
			arena_str(&removal_event->arena, lb->owners.items[i].namespace);
		owners[i].name = arena_str(&removal_event->arena, lb->owners.items[i].name);
		owners[i].uid = arena_str(&removal_event->arena, lb->owners.items[i].uid);
		owners[i].is_service = lb->owners.items[i].is_service;
	}
	removal_event->event.id = arena_str(&removal_event->arena, lb->key.id);
	removal_event->event.owners.items = owners;
	removal_event->event.owners.count = lb->owners.count;
	work->removal_event = removal_event;
}

void balancer_free(struct balancer *balancer)
{
	const struct balancer_context *context = balancer->context;
	end_work(balancer);
	services_stop_waiting(context->services, balancer);
	if (balancer->row != NULL)
		observed_release(context->observed, balancer->row);
	shown_fini(&balancer->shown);
	shared_text_drop(balancer->identity);
	slab_free(balancer, sizeof(*balancer));
}

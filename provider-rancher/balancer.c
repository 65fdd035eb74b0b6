// SPDX-License-Identifier: Apache-2.0
#include "provider-rancher/balancer.h"

#include "common/clock.h"
#include "common/must.h"
#include "common/shared_text.h"
#include "common/slab.h"
#include "common/xalloc.h"
#include "provider-rancher/log_events.h"

/* ---- work ---- */

/* From malloc: many are created at once and freed soon after. */
struct work *balancer_work(struct balancer *balancer)
{
	struct work *work = balancer->work;
	if (work != NULL)
		return work;
	work = xcalloc(1, sizeof(*work));
	work->balancer = balancer;
	ev_init(&work->timer, NULL);
	work->timer.data = balancer;
	balancer->work = work;
	return work;
}

unsigned balancer_needs(const struct balancer *balancer)
{
	return balancer->work != NULL ? balancer->work->plan.needs : 0;
}

void balancer_end_turn(struct balancer *balancer)
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
	balancer_end_turn(balancer);
	ev_timer_stop(balancer->context->client->loop, &balancer->work->timer);
	drop_failure(balancer->work);
	drop_removal_event(balancer->work);
	shared_text_drop(balancer->work->tried_name);
	free(balancer->work);
	balancer->work = NULL;
}

void balancer_rest(struct balancer *balancer)
{
	if (balancer->state == LB_FSM_IDLE && balancer->is_settled &&
		balancer_needs(balancer) == 0 && balancer->object != NULL)
		end_work(balancer);
}

void balancer_recover(struct balancer *balancer)
{
	if (balancer->work->failure != NULL)
		log_event(&EV_BALANCER_RECOVERED, LOG_STR("lb", balancer->identity));
	drop_failure(balancer->work);
}

/* ---- row and object ---- */

void balancer_tell(struct balancer *balancer)
{
	if (balancer->object != NULL)
		provider_status_changed(balancer->context->provider, balancer->object);
}

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
		/* No addresses are expected; a load balancer created later has its own. */
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
		/* Without an object there is no status to hold. */
		if (balancer->object != NULL && !balancer->is_absent)
			address_hold_begin(context->hold, &balancer->shown);
		break;
	}
	/* Also reports the host name, which is read from the row. */
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

/* ---- lifecycle ---- */

struct balancer *balancer_new(const struct balancer_context *context, const char *identity)
{
	struct balancer *balancer = slab_zalloc(sizeof(*balancer));
	balancer->context = context;
	balancer->identity = shared_text_get(str_from(identity));
	return balancer;
}

void balancer_attach(struct balancer *balancer, struct object *object)
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

// SPDX-License-Identifier: Apache-2.0
#include "provider-rancher/address_hold.h"

#include "common/clock.h"
#include "common/xalloc.h"
#include "provider-rancher/balancer.h"
#include "provider-rancher/log_events.h"

#include <bsd/sys/queue.h>

TAILQ_HEAD(balancer_list, balancer);

struct address_hold {
	struct controller *controller;
	struct balancer_list waiting; /* in the order in which their time is over */
	ev_timer timer;
};

static void set_timer(struct address_hold *hold)
{
	struct ev_loop *loop = hold->controller->loop;
	const struct balancer *next = TAILQ_FIRST(&hold->waiting);
	ev_timer_stop(loop, &hold->timer);
	if (next == NULL)
		return;
	double left_s = next->shown.none_since + hold->controller->config->endpoint_grace -
			clock_monotonic_s();
	ev_timer_set(&hold->timer, left_s > 0 ? left_s : 0, 0.);
	ev_timer_start(loop, &hold->timer);
}

void address_hold_begin(struct address_hold *hold, struct balancer *balancer)
{
	if (balancer->is_held || balancer->object == NULL || balancer->is_absent)
		return;
	balancer->is_held = true;
	TAILQ_INSERT_TAIL(&hold->waiting, balancer, hold);
	set_timer(hold);
}

void address_hold_end(struct address_hold *hold, struct balancer *balancer)
{
	if (!balancer->is_held)
		return;
	balancer->is_held = false;
	TAILQ_REMOVE(&hold->waiting, balancer, hold);
	set_timer(hold);
}

static void warn_of_no_addresses(const struct balancer *balancer)
{
	struct arena arena;
	arena_init(&arena);
	struct lb_event event = {
		.id = object_id(balancer->object),
		.type = EVENT_WARNING,
		.reason = STR("AddressesRemoved"),
		.message = arena_printf(&arena,
			"the load balancer has had no public endpoint for %g s; its addresses are "
			"taken out of the status",
			balancer->controller->config->endpoint_grace),
	};
	provider_event(balancer->controller->provider, &event);
	log_event(&EV_ADDRESSES_REMOVED, LOG_STR("lb", balancer->identity));
	arena_fini(&arena);
}

static void on_timer(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct address_hold *hold = timer->data;
	struct balancer *balancer;
	double hold_s = hold->controller->config->endpoint_grace;
	(void)events;
	while ((balancer = TAILQ_FIRST(&hold->waiting)) != NULL) {
		bool warn = false;
		/* The timer may be early by a rounding. */
		double now = clock_monotonic_s() + 0.001;
		if (now - balancer->shown.none_since < hold_s)
			break;
		if (shown_expire(&balancer->shown, now, hold_s, &warn))
			balancer_tell(balancer);
		if (warn)
			warn_of_no_addresses(balancer);
		address_hold_end(hold, balancer);
	}
	set_timer(hold);
}

/* ---- life ---- */

struct address_hold *address_hold_new(struct controller *controller)
{
	struct address_hold *hold = xcalloc(1, sizeof(*hold));
	hold->controller = controller;
	TAILQ_INIT(&hold->waiting);
	ev_init(&hold->timer, on_timer);
	hold->timer.data = hold;
	return hold;
}

void address_hold_free(struct address_hold *hold)
{
	if (hold == NULL)
		return;
	ev_timer_stop(hold->controller->loop, &hold->timer);
	free(hold);
}

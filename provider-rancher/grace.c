// SPDX-License-Identifier: Apache-2.0
#include "provider-rancher/grace.h"

#include "common/clock.h"
#include "common/xalloc.h"
#include "provider-rancher/balancer.h"
#include "provider-rancher/log_events.h"

#include <bsd/sys/queue.h>

TAILQ_HEAD(balancer_list, balancer);

struct grace {
	struct controller *controller;
	struct balancer_list waiting; /* in the order in which their time is over */
	ev_timer timer;
};

static void set_timer(struct grace *grace)
{
	struct ev_loop *loop = grace->controller->loop;
	const struct balancer *next = TAILQ_FIRST(&grace->waiting);
	ev_timer_stop(loop, &grace->timer);
	if (next == NULL)
		return;
	double left_s = next->shown.none_since + grace->controller->config->endpoint_grace -
			clock_monotonic_s();
	ev_timer_set(&grace->timer, left_s > 0 ? left_s : 0, 0.);
	ev_timer_start(loop, &grace->timer);
}

void grace_begin(struct grace *grace, struct balancer *balancer)
{
	if (balancer->is_in_grace || balancer->object == NULL || balancer->is_absent)
		return;
	balancer->is_in_grace = true;
	TAILQ_INSERT_TAIL(&grace->waiting, balancer, grace);
	set_timer(grace);
}

void grace_end(struct grace *grace, struct balancer *balancer)
{
	if (!balancer->is_in_grace)
		return;
	balancer->is_in_grace = false;
	TAILQ_REMOVE(&grace->waiting, balancer, grace);
	set_timer(grace);
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

static void on_grace_over(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct grace *grace = timer->data;
	struct balancer *balancer;
	double grace_s = grace->controller->config->endpoint_grace;
	(void)events;
	while ((balancer = TAILQ_FIRST(&grace->waiting)) != NULL) {
		bool warn = false;
		/* The timer may be early by a rounding. */
		double now = clock_monotonic_s() + 0.001;
		if (now - balancer->shown.none_since < grace_s)
			break;
		if (shown_expire(&balancer->shown, now, grace_s, &warn))
			balancer_tell(balancer);
		if (warn)
			warn_of_no_addresses(balancer);
		grace_end(grace, balancer);
	}
	set_timer(grace);
}

/* ---- life ---- */

struct grace *grace_new(struct controller *controller)
{
	struct grace *grace = xcalloc(1, sizeof(*grace));
	grace->controller = controller;
	TAILQ_INIT(&grace->waiting);
	ev_init(&grace->timer, on_grace_over);
	grace->timer.data = grace;
	return grace;
}

void grace_free(struct grace *grace)
{
	if (grace == NULL)
		return;
	ev_timer_stop(grace->controller->loop, &grace->timer);
	free(grace);
}

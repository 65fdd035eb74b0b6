// SPDX-License-Identifier: Apache-2.0
#include "translator/served.h"

#include "common/xalloc.h"

#include <stdlib.h>

/* Those before the place wait for the commit. */
struct served_part {
	uint64_t place;
	uint64_t serial;
};

struct served {
	struct graph *graph;
	const struct provider_peer *provider;
	struct pending *pending;
	struct queue waiting;
	uint64_t begun;          /* place: those before it are in the present batch, or were sent */
	struct served_part sent; /* all that was sent */
	struct served_part
		awaited;  /* the first part of it, whose commit the provider has yet to apply */
	uint64_t applied; /* serial of the last commit that was; 0: none of this connection */
};

struct served *served_new(
	struct graph *graph, const struct provider_peer *provider, struct pending *pending)
{
	struct served *served = xcalloc(1, sizeof(*served));
	served->graph = graph;
	served->provider = provider;
	served->pending = pending;
	queue_init(&served->waiting, NODE_WAITING);
	return served;
}

void served_free(struct served *served)
{
	if (served == NULL)
		return;
	queue_fini(&served->waiting);
	free(served);
}

static uint64_t next_place(const struct served *served)
{
	return served->waiting.popped + queue_len(&served->waiting);
}

bool served_may_show(struct served *served, struct ingress_node *ingress)
{
	if (ingress->is_served || !provider_peer_reports_applied(served->provider)) {
		ingress->is_served = true;
		return true;
	}
	/* It may be in the queue already, further ahead: that place says nothing about what it is now. */
	ingress->waits_since = next_place(served);
	queue_push(&served->waiting, &ingress->record.node);
	return false;
}

static void pop_until(struct served *served, uint64_t place)
{
	while (served->waiting.popped < place) {
		struct node *node = queue_pop(&served->waiting);
		struct ingress_node *ingress = (struct ingress_node *)(void *)node;
		if (ingress->record.payload == NULL || ingress->balancer == NULL) {
			graph_settle(served->graph, node);
		} else if (ingress->waits_since >= place) {
			queue_push(&served->waiting, node);
		} else {
			ingress->is_served = true;
			pending_tell_status(served->pending, ingress);
		}
	}
}

/* Returns whether an Ingress waits no longer. */
static bool advance(struct served *served)
{
	uint64_t before = served->waiting.popped;
	for (;;) {
		if (served->awaited.place <= served->waiting.popped)
			served->awaited = served->sent;
		bool is_applied = served->awaited.serial <= served->applied ||
				  !provider_peer_reports_applied(served->provider);
		if (served->awaited.place <= served->waiting.popped || !is_applied)
			return served->waiting.popped != before;
		pop_until(served, served->awaited.place);
	}
}

void served_provider_changed(struct served *served)
{
	struct served_part none = {.place = served->waiting.popped};
	served->begun = none.place;
	served->sent = none;
	served->awaited = none;
	served->applied = 0;
}

void served_begin(struct served *served)
{
	served->begun = next_place(served);
}

/* Those that an earlier commit held need not wait for this one. */
static bool end(struct served *served, uint64_t serial)
{
	if (served->begun > served->sent.place)
		served->sent = (struct served_part){.place = served->begun, .serial = serial};
	return advance(served);
}

void served_end(struct served *served, uint64_t serial)
{
	(void)end(served, serial);
}

bool served_rest(struct served *served, uint64_t serial)
{
	served_begin(served);
	return end(served, serial);
}

void served_applied(struct served *served, uint64_t serial)
{
	served->applied = serial;
	(void)advance(served);
}

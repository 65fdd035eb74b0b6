// SPDX-License-Identifier: Apache-2.0
/*
 * What is to be done: changes fill these queues, and whoever has its turn takes from them; nothing is done here. A node waits in a queue at most
 * once, so however fast changes come, no queue is longer than the state.
 *
 * Objects wait by kind, in the order in which they are sent. A batch (batch.h) takes those that wait when it begins; what comes later is for the
 * next one. It stands here how far the present one has come, because a change may concern it.
 */
#pragma once

#include "translator/object_names.h"
#include "translator/provider_peer.h"
#include "translator/queue.h"

enum {
	OBJECT_KINDS = 4,
	PENDING_STEPS_MAX = 512, /* before others get their turn */
};

enum diagnostics_part { DIAGNOSTICS_CONTENT, DIAGNOSTICS_STATUS };

enum pending_queue {
	PENDING_CLAIMS,   /* claims, hosts, and owners all of whose claims are meant */
	PENDING_OBJECTS,  /* to be sent when they have changed */
	PENDING_REMOVALS, /* objects */
	PENDING_DIAGNOSES,
	PENDING_STATUSES,
};

struct pending;

/* All must stay valid. */
struct pending *pending_new(
	struct graph *graph, const struct provider_peer *provider, struct arena *scratch);
void pending_free(struct pending *pending);

/* ---- what changes ask for ---- */

/* Has the object built again, and what is amiss with it told. */
void pending_build(struct pending *pending, struct node *node);
/* The object is wanted no more. */
void pending_give_up(struct pending *pending, struct node *node);
/* The object is wanted again, or anew: the present batch may have passed it over before. */
void pending_want_again(struct pending *pending, const struct node *node);
/* Has the diagnostics of the node looked at when there is room. */
void pending_diagnose(struct pending *pending, struct node *node, enum diagnostics_part part);
/* Has the status of the Ingress, or the Service, told. */
void pending_tell_status(struct pending *pending, struct ingress_node *ingress);
/* After a snapshot of the watcher: it may have lost what it was told. */
void pending_tell_all_statuses(struct pending *pending);
/* Has found anew who holds a claim, who owns a host, or what an owner has to offer. */
void pending_settle(struct pending *pending, struct node *node);
/* Has the holder of the name found anew, whatever was settled. */
void pending_settle_name(struct pending *pending, struct balancer_node *balancer, struct str host);

/* ---- whose turn it is ---- */

size_t pending_count(const struct pending *pending, enum pending_queue queue);
/* NULL: none. It may be freed now, see graph_settle(). */
struct node *pending_take(struct pending *pending, enum pending_queue queue);

/* ---- of batches ---- */

void pending_begin_batch(struct pending *pending);
void pending_end_batch(struct pending *pending);
bool pending_is_in_batch(const struct pending *pending);
/* Whether the object was given up since the present batch began. */
bool pending_was_given_up_now(const struct pending *pending, const struct node *node);
/* Of those that are for the present batch. NULL: there is none left. */
struct node *pending_take_object(struct pending *pending, enum object_order order);
struct node *pending_take_removal(struct pending *pending, enum object_order order);
size_t pending_left(const struct pending *pending, enum object_order order);
/* One after the other of those that wait for the next batch, each once. */
struct node *pending_look_ahead(struct pending *pending, enum object_order order);
/* Has the object sent, or removed, by the next batch. */
void pending_send(struct pending *pending, struct node *node);
void pending_remove(struct pending *pending, struct node *node);

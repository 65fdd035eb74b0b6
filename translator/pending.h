// SPDX-License-Identifier: Apache-2.0
/*
 * The work queues: changes fill them, and the parts that do the work take from them. A node is in a queue at most once, so however fast changes
 * come, no queue is longer than the state.
 *
 * Objects are queued by kind, in the order of sending. A batch (batch.h) takes those that are queued when it begins; later ones are for the next
 * batch. The progress of the present batch is kept here, because a change may affect it.
 */
#pragma once

#include "translator/object_names.h"
#include "translator/provider_peer.h"
#include "translator/queue.h"

enum { PENDING_STEPS_MAX = 512 /* before it yields to others */ };

enum diagnostics_part { DIAGNOSTICS_CONTENT, DIAGNOSTICS_STATUS };

enum pending_queue {
	PENDING_CLAIMS,   /* claims, hosts, and owners (for all of their claims) */
	PENDING_OBJECTS,  /* to be sent if they have changed */
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

/* Queues the object for rebuilding, and its diagnostics. */
void pending_build(struct pending *pending, struct node *node);
/* The object is no longer wanted. */
void pending_give_up(struct pending *pending, struct node *node);
/* The object is wanted, perhaps again: the present batch may already have skipped it. */
void pending_want_again(struct pending *pending, const struct node *node);
/* Queues the node: its diagnostics are computed when there is room. */
void pending_diagnose(struct pending *pending, struct node *node, enum diagnostics_part part);
/* Queues the status of the Ingress, or the Service. */
void pending_tell_status(struct pending *pending, struct ingress_node *ingress);
/* After a snapshot from the watcher, which may have lost what it was sent. */
void pending_tell_all_statuses(struct pending *pending);
/* Queues a claim, a host, or an owner, so that its holder, its owner, or its offers are determined
 * again. */
void pending_settle(struct pending *pending, struct node *node);
/* Queues the claim of the name, even if it was settled already. */
void pending_settle_name(struct pending *pending, struct balancer_node *balancer, struct str host);

/* ---- taking work ---- */

size_t pending_count(const struct pending *pending, enum pending_queue queue);
/* NULL: none. It may be freed now, see graph_settle(). */
struct node *pending_take(struct pending *pending, enum pending_queue queue);

/* ---- of batches ---- */

void pending_begin_batch(struct pending *pending);
void pending_end_batch(struct pending *pending);
bool pending_is_in_batch(const struct pending *pending);
/* Whether the object was given up since the present batch began. */
bool pending_was_given_up_now(const struct pending *pending, const struct node *node);
/* From those of the present batch. NULL: none left. */
struct node *pending_take_object(struct pending *pending, enum object_order order);
struct node *pending_take_removal(struct pending *pending, enum object_order order);
size_t pending_left(const struct pending *pending, enum object_order order);
/* Returns, one per call, those that wait for the next batch, each once. */
struct node *pending_look_ahead(struct pending *pending, enum object_order order);
/* Queues the object to be sent, or removed, by the next batch. */
void pending_send(struct pending *pending, struct node *node);
void pending_remove(struct pending *pending, struct node *node);

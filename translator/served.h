// SPDX-License-Identifier: Apache-2.0
/*
 * Which Ingresses are known to be served. With a provider that reports what it has applied, an Ingress that shows no address yet is given one
 * only when a commit that holds its routes has been applied. Once it shows one, its status follows the addresses at once, whatever is being
 * worked on.
 *
 * Those that wait are in a queue, in the order in which they began. A commit covers the head of the queue, up to those that waited when its batch
 * began, so a few places in the queue are all there is to keep, however many commits the provider has yet to answer.
 */
#pragma once

#include "translator/pending.h"
#include "translator/provider_peer.h"

struct served;

/* All must stay valid. */
struct served *served_new(
	struct graph *graph, const struct provider_peer *provider, struct pending *pending);
void served_free(struct served *served);

/* Whether the Ingress may show addresses. If not, it waits from now on, also if it has waited before, and its status is queued in the end. */
bool served_may_show(struct served *served, struct ingress_node *ingress);

/* The provider has come or gone: what it has applied is unknown. */
void served_provider_changed(struct served *served);
/* A batch takes what is queued for the provider. */
void served_begin(struct served *served);
/* It was sent; `serial` is that of the last commit. */
void served_end(struct served *served, uint64_t serial);
/* Nothing is queued for the provider: as if an empty batch had been sent. Returns whether an Ingress waits no longer. */
bool served_rest(struct served *served, uint64_t serial);
/* The provider has applied the commit, and all before it. */
void served_applied(struct served *served, uint64_t serial);

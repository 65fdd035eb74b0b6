// SPDX-License-Identifier: Apache-2.0
/*
 * Kubernetes Services as Rancher knows them: for each uid the id in Rancher, from lists and change events, so that a rule costs no request.
 * And which load balancers wait for one that Rancher does not know yet. No I/O.
 */
#pragma once

#include "provider-rancher/api_json.h"

struct services;
struct balancer;

struct services *services_new(void);
void services_free(struct services *services);

/* The id; absent when it is not known. Good until the service is changed. */
struct str services_find(const struct services *services, struct str uid);

/* Takes a Service from list number `list`, or from an event (0). Those that have waited for it are handed to on_known() and wait no more. */
void services_take(struct services *services, const struct rancher_service *told, uint64_t list,
	void (*on_known)(void *ctx, struct balancer *balancer), void *ctx);
/* The list is complete: what it has not shown is gone, unless an event has shown it since the list began. */
void services_end_list(struct services *services, uint64_t list);

/* `balancer` waits for the uid. */
void services_wait(struct services *services, struct str uid, struct balancer *balancer);
void services_stop_waiting(struct services *services, struct balancer *balancer);
/* The uids that are waited for, each once, `max` at most; returns how many. They stay good until one of the functions above is called. */
size_t services_awaited(const struct services *services, struct str *ret_uids, size_t max);
bool services_has_waiting(const struct services *services);

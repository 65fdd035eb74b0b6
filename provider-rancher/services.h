// SPDX-License-Identifier: Apache-2.0
/*
 * Kubernetes Services as Rancher knows them: the uid of each to its id in Rancher, from lists and change
 * events; and who waits for one that is not known yet. So a rule costs no request. No I/O.
 */
#pragma once

#include "provider-rancher/api_json.h"

struct services;
struct balancer;

struct services *services_new(void);
void services_free(struct services *services);

/* The id; absent when it is not known. Good until the service is changed. */
struct str services_find(const struct services *services, struct str uid);
/* For tests. */
size_t services_count(const struct services *services);

/* Takes one from an event, or from the list number `list` (0: an event). When that makes it known, those who waited are
 * handed to on_known() and do not wait any more. */
void services_take(struct services *services, const struct rancher_service *told, uint64_t list,
	void (*on_known)(void *ctx, struct balancer *balancer), void *ctx);
/* The list is complete: what it did not show is gone, but for what an event told after it began. */
void services_end_list(struct services *services, uint64_t list);

/* `balancer` waits for the uid. */
void services_wait(struct services *services, struct str uid, struct balancer *balancer);
void services_stop_waiting(struct services *services, struct balancer *balancer);
/* The uids that are waited for, at most `max` of them, each once; returns how many. They are good until one
 * of the functions above is called. */
size_t services_awaited(const struct services *services, struct str *ret_uids, size_t max);
bool services_has_waiting(const struct services *services);

// SPDX-License-Identifier: Apache-2.0
/* The requests that are worth sending to two controllers: those that Ingresses are about, and those of a log. Each once. Pure. */
#pragma once

#include "common/arena.h"
#include "sluicectl/migrate_objects.h"
#include "sluicectl/replay.h"

struct replay_requests {
	struct arena arena;
	struct replay_request *items;
	size_t count;
	size_t count_max;
	size_t *slots; /* positions of items by their digest, plus one; 0: free */
	size_t slot_count;
	size_t left_out; /* beyond count_max */
	size_t unusable; /* lines of a log that are no request which can be sent */
	size_t unsafe;   /* lines with a method that may change something */
	size_t homeless; /* lines of which the host is not known */
};

void replay_requests_init(struct replay_requests *requests, size_t count_max);
void replay_requests_free(struct replay_requests *requests);

/* Copies it, unless it is there. */
void replay_requests_add(struct replay_requests *requests, const struct replay_request *request);
/* Of each Ingress (of ingress-nginx, if there are any): each host and path, and what is near to it. `prefix` is that of the annotations. */
void replay_requests_derive(
	struct replay_requests *requests, const struct migrate_objects *objects, struct str prefix);
/* GET, HEAD and OPTIONS, which change nothing. */
bool replay_is_safe(struct str method);
/* Whether it can be sent as it is: printable, and of a length that servers take. */
bool replay_is_target(struct str target);
bool replay_is_host(struct str host);

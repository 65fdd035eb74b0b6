// SPDX-License-Identifier: Apache-2.0
/* A decision that is being made: what its steps share. */
#pragma once

#include "proto/decision_parts.h"

struct making {
	const struct decision_objects *objects;
	const struct load_balancer *load_balancer;
	struct request_parts parts;
	const struct policy *policy; /* NULL: none */
	bool is_closed;              /* an answer of before the policy counts */
	const struct decision_request
		*error_request; /* in place of one without a good certificate; NULL: none */
	bool is_replaced;       /* what is answered takes the place of an error */
	struct decision_reply
		auth; /* of external authentication; status 0: nobody was asked, or nobody can tell */
	struct arena *arena;
	struct decision *to;
};

#define LIST_PUSH(arena_, list_, type_) \
	((type_ *)arena_push((arena_), (void **)&(list_).items, &(list_).count, sizeof(type_)))

/* `format`: what it does, for people. */
[[gnu::format(printf, 3, 4)]] struct decision_step *making_add_step(
	struct making *m, enum decision_step_kind kind, const char *format, ...);
/* Makes parts of the request, or of the one in its place, and says whether whoever sent it is believed about it. */
void making_take_apart(struct making *m, const struct decision_request *request);
/* The step answers the request; returns true. */
bool making_end(struct making *m, struct decision_step *step, uint64_t status);
/* Endpoints of the pool that get requests; `ret_pool` may be NULL. */
size_t making_count_active(struct making *m, struct str pool_id, const struct pool **ret_pool);
/* To the answer. */
void making_add_header(struct making *m, const char *name, struct str value);

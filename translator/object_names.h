// SPDX-License-Identifier: Apache-2.0
/* For nodes that have an object: its kind, its place in the order of sending, and its id. */
#pragma once

#include "common/arena.h"
#include "translator/graph.h"
#include "proto/model.h"

/* Objects in the order in which they are sent: each may need those before it. */
enum object_order {
	ORDER_USERS,
	ORDER_POLICY,
	ORDER_CERTIFICATE,
	ORDER_POOL,
	ORDER_BALANCER,
	ORDER_HOST,
	OBJECT_KINDS,
};

enum object_order object_order(const struct node *node);
enum lb_kind object_lb_kind(const struct node *node);
/* The id, in the arena. */
struct str object_id(const struct node *node, struct arena *arena);

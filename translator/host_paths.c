// SPDX-License-Identifier: Apache-2.0
#include "translator/host_paths.h"

#include "translator/record.h"
#include "common/must.h"
#include "translator/claim_route.h"

#include <stdlib.h>

/* For a single Ingress: its plan stays valid. */
static struct path_claim *take_claims(
	struct arena *arena, const struct plan_host *host, size_t *ret_count)
{
	size_t count = host->claims.count;
	struct path_claim *claims = arena_calloc(arena, count, sizeof(*claims));
	if (count != 0)
		memcpy(claims, host->claims.items, count * sizeof(*claims));
	*ret_count = count;
	return claims;
}

/* For several: plans are evicted, so everything is copied. */
static void copy_claims(struct arena *arena, const struct plan *plan, const struct plan_host *host,
	struct path_claim **claims, size_t *count)
{
	struct object_ref *self = arena_alloc(arena, sizeof(*self));
	*self = (struct object_ref){.namespace = arena_str(arena, plan->self.namespace),
		.name = arena_str(arena, plan->self.name),
		.uid = arena_str(arena, plan->self.uid)};
	const struct claim_route *route = route_copy(plan->claim_route, arena);
	for (size_t i = 0; i < host->claims.count; i++) {
		void *items = *claims;
		struct path_claim *claim = arena_push(arena, &items, count, sizeof(*claim));
		*claims = items;
		*claim = host->claims.items[i];
		claim->path = arena_str(arena, claim->path);
		claim->pool = arena_str(arena, claim->pool);
		claim->route =
			claim->route == plan->claim_route ? route : route_copy(claim->route, arena);
		claim->ingress = self;
	}
}

static int compare_owners(const void *left, const void *right)
{
	const struct ingress_node *a = *(struct ingress_node *const *)left;
	const struct ingress_node *b = *(struct ingress_node *const *)right;
	return (int)ingress_is_older(b, a) - (int)ingress_is_older(a, b);
}

/* All owners of the host; of large ones (plans.c) only the oldest, up to the limit. */
static struct ingress_node **list_owners(const struct host_paths *host_paths,
	struct host_node *node, size_t *ret_count, struct diag_list *diags)
{
	struct ingress_node **owners = NULL;
	struct ingress_node **large = NULL;
	size_t large_count = 0;
	struct use *use;
	const struct ingress_node *owner = owners_of(host_paths->owners, node);
	RB_FOREACH (use, use_tree, &node->node.users) {
		struct ingress_node *user = use->user;
		if (!owners_allow(owner, user)) {
			struct object_ref self = ingress_ref(user, host_paths->scratch);
			owners_tell(owner, &self, node_host(&node->node), NULL, diags);
			continue;
		}
		void *items = user->is_large ? large : owners;
		size_t *count = user->is_large ? &large_count : ret_count;
		struct ingress_node **place =
			arena_push(host_paths->scratch, &items, count, sizeof(*place));
		*(user->is_large ? &large : &owners) = items;
		*place = user;
	}
	if (large != NULL && large_count > PLAN_LARGE_SLOTS)
		qsort(large, large_count, sizeof(struct ingress_node *), compare_owners);
	for (size_t i = 0; large != NULL && i < large_count; i++) {
		void *items = owners;
		if (i >= PLAN_LARGE_SLOTS) {
			struct object_ref self = ingress_ref(large[i], host_paths->scratch);
			diag_add(diags, &self, "HostOverloaded", NULL,
				"its paths of %.*s are left out: of Ingresses with as many hosts "
				"and rules as this one "
				"only %d can share a host",
				STR_FMT(node_key(&node->node)), PLAN_LARGE_SLOTS);
			continue;
		}
		struct ingress_node **place =
			arena_push(host_paths->scratch, &items, ret_count, sizeof(*place));
		owners = items;
		*place = large[i];
	}
	return owners;
}

struct path_claim *host_paths_gather(const struct host_paths *host_paths, struct host_node *node,
	size_t *ret_count, struct diag_list *diags)
{
	struct path_claim *claims = NULL;
	size_t owner_count = 0;
	struct ingress_node **owners = list_owners(host_paths, node, &owner_count, diags);
	for (size_t i = 0; i < owner_count; i++) {
		const struct plan *plan = &plans_get(host_paths->plans, owners[i])->plan;
		const struct plan_host *host = plan_find_host(plan, node_key(&node->node));
		must(host != NULL);
		if (owner_count == 1)
			return take_claims(host_paths->scratch, host, ret_count);
		copy_claims(host_paths->scratch, plan, host, &claims, ret_count);
	}
	return claims;
}

// SPDX-License-Identifier: Apache-2.0
#include "translator/object_names.h"

#include "common/must.h"
#include "translator/keys.h"
#include "translator/plan.h"

enum object_order object_order(const struct node *node)
{
	switch ((enum node_kind)node->kind) {
	case NODE_USERS:
		return ORDER_USERS;
	case NODE_POLICY:
		return ORDER_POLICY;
	case NODE_SECRET:
		return ORDER_CERTIFICATE;
	case NODE_POOL:
		return ORDER_POOL;
	case NODE_BALANCER:
		return ORDER_BALANCER;
	case NODE_HOST:
		return ORDER_HOST;
	case NODE_INGRESS:
	case NODE_FRONT:
	case NODE_CLASS:
	case NODE_SERVICE:
	case NODE_SLICE:
	case NODE_CONFIG_MAP:
	case NODE_POD:
	case NODE_MACHINE:
	case NODE_CLAIM:
	case NODE_KIND_COUNT:
		break;
	}
	must(false);
}

enum lb_kind object_lb_kind(const struct node *node)
{
	static const enum lb_kind kinds[] = {
		[ORDER_USERS] = LB_USERS,
		[ORDER_POLICY] = LB_POLICY,
		[ORDER_CERTIFICATE] = LB_CERTIFICATE,
		[ORDER_POOL] = LB_POOL,
		[ORDER_BALANCER] = LB_LOAD_BALANCER,
		[ORDER_HOST] = LB_VIRTUAL_HOST,
	};
	return kinds[object_order(node)];
}

struct str object_id(const struct node *node, struct arena *arena)
{
	if (node->kind == NODE_HOST) {
		const struct host_node *host = (const void *)node;
		bool passthrough = str_starts_with(node_key(node), STR(PLAN_PASSTHROUGH));
		return key_join(arena, node_key(&host->balancer->node), passthrough ? '/' : '|',
			node_key(node));
	}
	if (node->kind == NODE_POOL) {
		const struct pool_node *pool = (const void *)node;
		return key_join(arena, node_key(&pool->service->record.node), ':', node_key(node));
	}
	return arena_str(arena, node_key(node));
}

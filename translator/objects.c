// SPDX-License-Identifier: Apache-2.0
/* From a node of the graph to the object that a provider is sent: unpacks what the pure modules
 * need, and lets them build. */
#include "translator/state.h"

#include "common/cert.h"
#include "common/must.h"
#include "translator/backends.h"
#include "translator/balancer.h"
#include "translator/keys.h"

static const struct tls_secret *find_secret(void *ctx, struct str namespace, struct str name)
{
	static const struct tls_secret missing = {.problem = ""};
	struct engine *engine = ctx;
	struct str key = tls_certificate_id(&engine->scratch, namespace, name);
	struct record *record = graph_find(&engine->graph, NODE_SECRET, key);
	if (record == NULL)
		return &missing;
	return &secret_facts_get(engine, (struct secret_node *)(void *)record)->view;
}

struct tls_context object_tls_context(struct engine *engine)
{
	return (struct tls_context){
		.find = find_secret,
		.ctx = engine,
		.secrets_are_synced = (engine->synced & 1U << RECORD_SECRET) != 0,
		.default_namespace = engine->config.default_namespace,
		.default_name = engine->config.default_name,
		.now_s = engine->now_s,
		.warn_s = engine->config.certificate_warn_s,
	};
}

enum object_order object_order(const struct node *node)
{
	switch ((enum node_kind)node->kind) {
	case NODE_SECRET:
		return ORDER_CERTIFICATE;
	case NODE_POOL:
		return ORDER_POOL;
	case NODE_BALANCER:
		return ORDER_BALANCER;
	case NODE_HOST:
		return ORDER_HOST;
	case NODE_INGRESS:
	case NODE_CLASS:
	case NODE_SERVICE:
	case NODE_SLICE:
	case NODE_PROBE:
	case NODE_KIND_COUNT:
		break;
	}
	must(false);
}

enum lb_kind object_lb_kind(const struct node *node)
{
	static const enum lb_kind kinds[] = {
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
		return key_join(arena, node_key(&host->balancer->node), '|', node_key(node));
	}
	if (node->kind == NODE_POOL) {
		const struct pool_node *pool = (const void *)node;
		return key_join(arena, node_key(&pool->service->record.node), ':', node_key(node));
	}
	return arena_str(arena, node_key(node));
}

struct object_ref ingress_ref(
	struct engine *engine, const struct ingress_node *ingress, struct arena *arena)
{
	struct ingress_record record;
	(void)engine;
	record_read(&ingress->record, arena, &record);
	return (struct object_ref){
		.namespace = record.key.namespace, .name = record.key.name, .uid = record.key.uid};
}

static bool has_one_user(const struct edge_list *users)
{
	const struct edge *first = LIST_FIRST(users);
	return first != NULL && LIST_NEXT(first, link) == NULL;
}

/* ---- virtual host ---- */

/* Of one ingress: its plan stays good. */
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

/* Of several: plans come and go, so everything is copied. */
static void copy_claims(struct arena *arena, const struct plan *plan, const struct plan_host *host,
	struct path_claim **claims, size_t *count)
{
	struct object_ref *self = arena_alloc(arena, sizeof(*self));
	*self = (struct object_ref){.namespace = arena_str(arena, plan->self.namespace),
		.name = arena_str(arena, plan->self.name),
		.uid = arena_str(arena, plan->self.uid)};
	for (size_t i = 0; i < host->claims.count; i++) {
		void *items = *claims;
		struct path_claim *claim = arena_push(arena, &items, count, sizeof(*claim));
		*claims = items;
		*claim = host->claims.items[i];
		claim->path = arena_str(arena, claim->path);
		claim->pool = arena_str(arena, claim->pool);
		claim->ingress = self;
	}
}

static struct path_claim *gather_claims(
	struct engine *engine, const struct host_node *node, size_t *ret_count)
{
	struct path_claim *claims = NULL;
	struct edge *edge;
	LIST_FOREACH (edge, &node->users, link) {
		const struct plan *plan = &plans_get(engine, edge->ingress)->plan;
		const struct plan_host *host = plan_find_host(plan, node_key(&node->node));
		must(host != NULL);
		if (has_one_user(&node->users))
			return take_claims(&engine->scratch, host, ret_count);
		copy_claims(&engine->scratch, plan, host, &claims, ret_count);
	}
	return claims;
}

static const void *build_host(
	struct engine *engine, struct host_node *node, struct diag_list *diags)
{
	struct virtual_host *host = arena_alloc(&engine->scratch, sizeof(*host));
	size_t count = 0;
	struct path_claim *claims = gather_claims(engine, node, &count);
	struct str name = node_key(&node->node);
	host->key = (struct lb_key){
		.kind = LB_VIRTUAL_HOST, .id = object_id(&node->node, &engine->scratch)};
	host->load_balancer = node_key(&node->balancer->node);
	host->host = name;
	host->match = str_is_empty(name)                 ? HOST_ANY
		      : str_starts_with(name, STR("*.")) ? HOST_WILDCARD
							 : HOST_EXACT;
	rules_merge(claims, count, name, &engine->scratch, host, diags);
	return host;
}

/* ---- load balancer ---- */

static const void *build_balancer(
	struct engine *engine, struct balancer_node *node, struct diag_list *diags)
{
	struct load_balancer *lb = arena_alloc(&engine->scratch, sizeof(*lb));
	struct tls_context tls = object_tls_context(engine);
	struct balancer_request request = {
		.tls = &tls, .https_is_possible = engine_can_serve(engine, STR("https"))};
	const struct plan *plan = NULL;
	struct edge *edge;
	size_t most = 0;
	LIST_FOREACH (edge, &node->users, link)
		most++;
	request.plans = arena_calloc(&engine->scratch, most, sizeof(*request.plans));
	LIST_FOREACH (edge, &node->users, link) {
		bool shapes = (edge->ingress->record.node.flags & NODE_SHAPES) != 0;
		if (plan != NULL && !shapes)
			continue;
		plan = most == 1 ? &plans_get(engine, edge->ingress)->plan
				 : plans_make(engine, edge->ingress, &engine->scratch);
		if (shapes)
			request.plans[request.count++] = plan;
	}
	must(plan != NULL);
	request.scope = plan->scope;
	request.class_name = plan->class_name;
	balancer_build(&request, &engine->scratch, lb, diags);
	lb->key.id = node_key(&node->node);
	return lb;
}

/* ---- pool ---- */

static const struct endpoints_record *const *read_slices(
	struct engine *engine, const struct service_node *service, size_t *ret_count)
{
	const struct slice_node *slice;
	const struct endpoints_record **slices = NULL;
	size_t count = 0;
	SLIST_FOREACH (slice, &service->slices, of_service) {
		struct endpoints_record *record = arena_alloc(&engine->scratch, sizeof(*record));
		void *items = slices;
		const struct endpoints_record **place =
			arena_push(&engine->scratch, &items, &count, sizeof(*place));
		slices = items;
		record_read(&slice->record, &engine->scratch, record);
		*place = record;
	}
	*ret_count = count;
	return slices;
}

static void tell_users(struct engine *engine, const struct pool_node *node,
	const struct backend_problem *problem, struct diag_list *diags)
{
	const struct edge *edge;
	if (diags == NULL || problem->reason == NULL)
		return;
	LIST_FOREACH (edge, &node->users, link) {
		struct object_ref self = ingress_ref(engine, edge->ingress, &engine->scratch);
		diag_add(diags, &self, problem->reason, NULL, "%.*s", STR_FMT(problem->text));
	}
}

static const void *build_pool(
	struct engine *engine, struct pool_node *node, struct diag_list *diags)
{
	struct service_node *service = node->service;
	struct pool *pool = arena_alloc(&engine->scratch, sizeof(*pool));
	struct backend_problem problem;
	struct service_record record;
	struct backend_request request = {
		.namespace = node_namespace(&service->record.node),
		.service = node_name(&service->record.node),
		.port = node_key(&node->node),
		.allow_external_name = engine->config.allow_external_name,
	};
	if (service->record.packed != NULL) {
		record_read(&service->record, &engine->scratch, &record);
		request.record = &record;
		request.slices = read_slices(engine, service, &request.slice_count);
	}
	backend_build(&request, &engine->scratch, pool, &problem);
	pool->key.id = object_id(&node->node, &engine->scratch);
	tell_users(engine, node, &problem, diags);
	return pool;
}

/* ---- certificate ---- */

static const void *build_certificate(struct engine *engine, struct secret_node *node)
{
	struct certificate *certificate = arena_alloc(&engine->scratch, sizeof(*certificate));
	struct secret_record record;
	struct cert_info info;
	record_read(&node->record, &engine->scratch, &record);
	/* It was found good when it became wanted. */
	must(cert_check(record.certificate, record.private_key, &engine->scratch, &info) == NULL);
	*certificate = (struct certificate){
		.key = {.kind = LB_CERTIFICATE, .id = node_key(&node->record.node)},
		.namespace = record.key.namespace,
		.name = record.key.name,
		.chain = info.chain,
		.private_key = record.private_key,
		.names = {info.names, info.name_count},
		.not_after = info.not_after > 0 ? (uint64_t)info.not_after : 0,
	};
	return certificate;
}

/* ---- any ---- */

const void *object_build(struct engine *engine, struct node *node, struct diag_list *diags)
{
	const void *object = NULL;
	switch (object_order(node)) {
	case ORDER_CERTIFICATE:
		object = build_certificate(engine, (struct secret_node *)(void *)node);
		break;
	case ORDER_POOL:
		object = build_pool(engine, (struct pool_node *)(void *)node, diags);
		break;
	case ORDER_BALANCER:
		object = build_balancer(engine, (struct balancer_node *)(void *)node, diags);
		break;
	case ORDER_HOST:
		object = build_host(engine, (struct host_node *)(void *)node, diags);
		break;
	}
	if (diags != NULL)
		diag_list_finish(diags);
	return object;
}

static void diagnose_ingress(
	struct engine *engine, struct ingress_node *ingress, struct diag_list *diags)
{
	if (ingress->record.packed == NULL)
		return;
	const struct plan_slot *slot = plans_get(engine, ingress);
	struct tls_context tls = object_tls_context(engine);
	for (size_t i = 0; i < slot->diags.count; i++) {
		const struct diag *diag = &slot->diags.items[i];
		/* Already worded; the reason is text with a NUL behind it. */
		diag_add(diags, &diag->ingress, diag->reason.p, NULL, "%.*s",
			STR_FMT(diag->message));
	}
	tls_check(&slot->plan, &tls, diags);
	diag_list_finish(diags);
}

void object_diagnose(struct engine *engine, struct node *node, struct diag_list *diags)
{
	if (node->kind == NODE_INGRESS)
		diagnose_ingress(engine, (struct ingress_node *)(void *)node, diags);
	else if (node->kind != NODE_SECRET && object_is_wanted(engine, node))
		(void)object_build(engine, node, diags);
}

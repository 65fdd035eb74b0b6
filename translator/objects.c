// SPDX-License-Identifier: Apache-2.0
#include "translator/objects.h"

#include "translator/object_names.h"
#include "translator/claim_keys.h"
#include "translator/record.h"
#include "common/must.h"
#include "translator/auth_users.h"
#include "translator/backend_tls.h"
#include "translator/backends.h"
#include "translator/balancer.h"
#include "translator/certificates.h"
#include "translator/client_tls.h"
#include "translator/host_handshake.h"
#include "translator/keys.h"
#include "translator/policies.h"
#include "translator/shared.h"

/* ---- virtual host ---- */

/* NULL: no such Secret. */
static const struct secret_record *read_secret(
	const struct objects *objects, struct str namespace, struct str name)
{
	struct str key = tls_certificate_id(objects->scratch, namespace, name);
	struct record *record =
		str_is_empty(name) ? NULL : graph_find(objects->graph, NODE_SECRET, key);
	if (record == NULL || record->payload == NULL)
		return NULL;
	struct secret_record *secret = arena_alloc(objects->scratch, sizeof(*secret));
	record_read(record, objects->scratch, secret);
	return secret;
}

/* Of several Ingresses the oldest decides for the whole host. */
static void settle_clients(const struct objects *objects, const struct path_claim *claims,
	size_t count, struct virtual_host *host, struct diag_list *diags)
{
	const struct path_claim *first = client_tls_choose(claims, count, host->host, diags);
	if (first == NULL)
		return;
	const struct client_wish *wish = first->route->client;
	const struct secret_record *secret =
		read_secret(objects, first->ingress->namespace, wish->secret);
	struct client_tls *client = arena_alloc(objects->scratch, sizeof(*client));
	const char *problem = client_tls_settle(wish, secret, objects->scratch, client);
	host->client_tls = client;
	if (problem != NULL)
		diag_add(diags, first->ingress, "ClientTLSUnusable", NULL,
			"requests for %.*s over TLS are answered with 403: %s",
			STR_FMT(host->host.len != 0 ? host->host : STR("any host")), problem);
}

static const void *build_host(
	const struct objects *objects, struct host_node *node, struct diag_list *diags)
{
	struct virtual_host *host = arena_alloc(objects->scratch, sizeof(*host));
	size_t count = 0;
	struct path_claim *claims = host_paths_gather(objects->host_paths, node, &count, diags);
	struct str name = node_host(&node->node);
	host->passthrough = str_starts_with(node_key(&node->node), STR(PLAN_PASSTHROUGH));
	host->key = (struct lb_key){
		.kind = LB_VIRTUAL_HOST, .id = object_id(&node->node, objects->scratch)};
	host->load_balancer = node_key(&node->balancer->node);
	host->host = name;
	host->match = str_is_empty(name)                 ? HOST_ANY
		      : str_starts_with(name, STR("*.")) ? HOST_WILDCARD
							 : HOST_EXACT;
	struct rules_host about = {.name = name, .has_tls = rules_have_tls(claims, count)};
	about.has_tls = about.has_tls || owners_have_tls_above(objects->host_paths->owners, node);
	rules_merge(claims, count, &about, objects->scratch, host, diags);
	settle_clients(objects, claims, count, host, diags);
	host->handshake = host_handshake_choose(claims, count, name, objects->scratch, diags);
	return host;
}

/* ---- load balancer ---- */

static bool passes_through(const struct objects *objects, struct balancer_node *balancer)
{
	/* They stand side by side in the tree. */
	struct node *host = graph_find_from(&balancer->hosts, STR(PLAN_PASSTHROUGH));
	for (; host != NULL && str_starts_with(node_key(host), STR(PLAN_PASSTHROUGH));
		host = RB_NEXT(node_tree, &balancer->hosts, host)) {
		if (object_is_wanted(objects->secrets, host))
			return true;
	}
	return false;
}

static void gather_ports(const struct objects *objects, struct balancer_node *balancer,
	struct shared_request *request)
{
	struct node *node = graph_find_from(&balancer->claims, STR(CLAIM_PORT));
	struct shared_port *ports = NULL;
	/* Ports are claimed by few, names by thousands. */
	for (; node != NULL; node = RB_NEXT(node_tree, &balancer->claims, node)) {
		const struct claim_node *claim = (const void *)node;
		uint64_t number = claim_port(claim);
		if (number == 0)
			break;
		if (claim->holder == NULL)
			continue;
		void *items = ports;
		struct shared_port *port =
			arena_push(objects->scratch, &items, &request->port_count, sizeof(*port));
		ports = items;
		*port = (struct shared_port){.port = number,
			.protocol = claim->protocol,
			.created = plans_get(objects->plans, claim->holder)->plan.created};
		if (claim->protocol == LISTENER_TCP || claim->protocol == LISTENER_UDP)
			port->holder = plans_make(objects->plans, claim->holder, objects->scratch);
	}
	request->ports = ports;
}

/* Sets where its ports are, and which of them are for HTTP and HTTPS. */
static void set_listeners(const struct objects *objects, const struct balancer_node *node,
	struct shared_request *request)
{
	struct str key = node_key(&node->node);
	if (str_starts_with(key, STR(PLAN_OWN_CLASS))) {
		request->class_name = str_skip(key, sizeof(PLAN_OWN_CLASS) - 1);
		const struct class_item *item =
			class_table_find_own(classes_table(objects->classes), request->class_name);
		if (item == NULL)
			return; /* about to be removed */
		request->listeners = item->listeners.items;
		request->listener_count = item->listeners.count;
		request->addresses = item->addresses;
		request->created = item->created;
		return;
	}
	struct class_listener *both = arena_calloc(objects->scratch, 2, sizeof(*both));
	both[0] = (struct class_listener){STR(""), objects->config->http_port, LISTENER_HTTP};
	both[1] = (struct class_listener){STR(""), objects->config->https_port, LISTENER_HTTPS};
	request->class_name = str_skip(key, sizeof(PLAN_SHARED) - 1);
	request->listeners = both;
	request->listener_count = 2;
	request->addresses.items = arena_calloc(objects->scratch, 1, sizeof(struct str));
	request->addresses.count = 1;
	request->created = classes_table(objects->classes)->shared_created;
}

static const void *build_shared(
	const struct objects *objects, struct balancer_node *node, struct diag_list *diags)
{
	struct load_balancer *lb = arena_alloc(objects->scratch, sizeof(*lb));
	struct forwarding *forwarding = arena_alloc(objects->scratch, sizeof(*forwarding));
	struct tls_context tls = secrets_context(objects->secrets);
	const struct claim_node *fallback = graph_find_claim(node, STR(CLAIM_DEFAULT));
	struct shared_request request = {
		.shows_certificate = node->shown_count != 0,
		.passes_through = passes_through(objects, node),
		.default_certificate = tls_default_id(&tls, objects->scratch),
		.https_is_possible = provider_peer_can_serve(objects->provider, STR("https")),
	};
	if (!str_is_empty(objects->config->backend_name))
		request.default_pool = plan_backend_id(objects->config->backend_namespace,
			objects->config->backend_name, objects->scratch);
	if (global_options_forwarding(objects->options, forwarding, &request.reads_proxy))
		request.forwarding = forwarding;
	set_listeners(objects, node, &request);
	gather_ports(objects, node, &request);
	if (fallback != NULL && fallback->holder != NULL)
		request.default_pool =
			plans_make(objects->plans, fallback->holder, objects->scratch)
				->default_pool;
	shared_build(&request, objects->scratch, lb, diags);
	lb->key.id = node_key(&node->node);
	return lb;
}

static const void *build_balancer(
	const struct objects *objects, struct balancer_node *node, struct diag_list *diags)
{
	if (provider_peer_is_merged(objects->provider))
		return build_shared(objects, node, diags);
	struct load_balancer *lb = arena_alloc(objects->scratch, sizeof(*lb));
	struct tls_context tls = secrets_context(objects->secrets);
	struct balancer_request request = {.tls = &tls,
		.https_is_possible = provider_peer_can_serve(objects->provider, STR("https"))};
	struct use *use;
	size_t most = 0;
	RB_FOREACH (use, use_tree, &node->node.users)
		most++;
	must(most != 0);
	request.plans = arena_calloc(objects->scratch, most, sizeof(*request.plans));
	RB_FOREACH (use, use_tree, &node->node.users)
		request.plans[request.count++] =
			most == 1 ? &plans_get(objects->plans, use->user)->plan
				  : plans_make(objects->plans, use->user, objects->scratch);
	request.scope = request.plans[0]->scope;
	balancer_build(&request, objects->scratch, lb, diags);
	lb->key.id = node_key(&node->node);
	return lb;
}

/* ---- pool ---- */

static const struct endpoints_record *const *read_slices(
	const struct objects *objects, struct service_node *service, size_t *ret_count)
{
	struct slice_node *slice;
	const struct endpoints_record **slices = NULL;
	size_t count = 0;
	RB_FOREACH (slice, slice_tree, &service->slices) {
		struct endpoints_record *record = arena_alloc(objects->scratch, sizeof(*record));
		void *items = slices;
		const struct endpoints_record **place =
			arena_push(objects->scratch, &items, &count, sizeof(*place));
		slices = items;
		record_read(&slice->record, objects->scratch, record);
		*place = record;
	}
	*ret_count = count;
	return slices;
}

/* It is the administrator's: all use it, and none of them can do anything about it. */
static bool is_default_backend(const struct objects *objects, const struct pool_node *node)
{
	const struct node *service = &node->service->record.node;
	return str_eq_c(node_key(&node->node), ROUTE_FIRST_PORT) &&
	       str_eq(node_name(service), objects->config->backend_name) &&
	       str_eq(node_namespace(service), objects->config->backend_namespace);
}

static void tell_users(const struct objects *objects, struct pool_node *node,
	const struct backend_problem *problem, struct diag_list *diags)
{
	struct use *use;
	if (diags == NULL || problem->reason == NULL || is_default_backend(objects, node))
		return;
	RB_FOREACH (use, use_tree, &node->node.users) {
		struct object_ref self = ingress_ref(use->user, objects->scratch);
		diag_add(diags, &self, problem->reason, NULL, "%.*s", STR_FMT(problem->text));
	}
}

static void settle_tls(const struct objects *objects, const struct backend_wish *wish,
	struct pool *pool, struct backend_problem *problem)
{
	static const struct backend_wish none = {0};
	struct backend_tls_request request = {.wish = wish != NULL ? wish : &none,
		.takes_keyless = secrets_take_keyless(objects->secrets),
		.missing = provider_peer_limits(objects->provider).policies};
	if (!provider_peer_is_merged(objects->provider) ||
		(provider_peer_limits(objects->provider).policies & POLICY_BACKEND_TLS) != 0) {
		pool->tls = NULL;
		return;
	}
	request.ca = read_secret(objects, pool->service.namespace, request.wish->ca);
	request.client = read_secret(objects, pool->service.namespace, request.wish->client);
	backend_tls_settle(&request, objects->scratch, pool, problem);
}

/* All its users have the same settings for it. NULL: it has none. */
static const struct plan_pool *settings_of(
	const struct objects *objects, const struct pool_node *node, struct str id)
{
	if (str_find(node_key(&node->node), '+') == NULL)
		return NULL;
	const struct use *first = RB_MIN(use_tree, (struct use_tree *)(uintptr_t)&node->node.users);
	must(first != NULL);
	const struct plan *plan = &plans_get(objects->plans, first->user)->plan;
	const struct plan_pool *settings = plan_find_pool(plan, id);
	must(settings != NULL);
	return settings;
}

static bool is_foreign(struct str port)
{
	const char *settings = str_find(port, '+');
	return settings != NULL &&
	       str_starts_with(str_skip(port, (size_t)(settings - port.p)), STR(ROUTE_FOREIGN));
}

static const void *build_pool(
	const struct objects *objects, struct pool_node *node, struct diag_list *diags)
{
	struct service_node *service = node->service;
	struct pool *pool = arena_alloc(objects->scratch, sizeof(*pool));
	struct str id = object_id(&node->node, objects->scratch);
	const struct plan_pool *settings = settings_of(objects, node, id);
	const struct backend_wish *wish = settings != NULL ? settings->backend : NULL;
	struct backend_problem problem;
	struct service_record record;
	struct backend_request request = {
		.namespace = node_namespace(&service->record.node),
		.service = node_name(&service->record.node),
		.port = node_key(&node->node),
		.allow_external_name = objects->config->allow_external_name,
		.wants_service = wish != NULL && wish->service_upstream == SWITCH_ON,
		.egress = objects->config->egress,
		.is_foreign = is_foreign(node_key(&node->node)),
	};
	if (service->record.payload != NULL && !request.is_foreign) {
		record_read(&service->record, objects->scratch, &record);
		request.record = &record;
		request.slices = read_slices(objects, service, &request.slice_count);
	}
	backend_build(&request, objects->scratch, pool, &problem);
	pool->key.id = id;
	pool->sends_proxy = str_ends_with(node_key(&node->node), STR(PLAN_SENDS_PROXY));
	if (settings != NULL)
		policies_fill_pool(settings, provider_peer_limits(objects->provider).policies,
			objects->scratch, pool);
	settle_tls(objects, wish, pool, &problem);
	tell_users(objects, node, &problem, diags);
	return pool;
}

/* ---- what is done with requests ---- */

static const void *build_policy(const struct objects *objects, struct policy_node *node)
{
	const struct use *user = RB_MIN(use_tree, &node->node.users);
	struct policy *policy = arena_alloc(objects->scratch, sizeof(*policy));
	must(user != NULL);
	/* It is of one Ingress, whose plan stays while this one is needed. */
	const struct plan *plan = &plans_get(objects->plans, user->user)->plan;
	*policy = plan->route.policy;
	policy->key = (struct lb_key){.kind = LB_POLICY, .id = node_key(&node->node)};
	policy->ingress = node_key(&node->node);
	if (str_ends_with(policy->ingress, STR(PLAN_KEPT_PATHS))) {
		plan_keep_paths(plan, objects->scratch, policy);
		policy->ingress.len -= sizeof(PLAN_KEPT_PATHS) - 1;
	}
	return policy;
}

static void tell_bad_users(const struct objects *objects, struct users_node *node,
	const struct auth_users *read, struct diag_list *diags)
{
	struct use *use;
	if (diags == NULL || read->problem_count == 0)
		return;
	RB_FOREACH (use, use_tree, &node->node.users) {
		struct object_ref self = ingress_ref(use->user, objects->scratch);
		for (size_t i = 0; i < read->problem_count; i++)
			diag_add(diags, &self, "BasicAuthUnusable", NULL, "%s", read->problems[i]);
	}
}

static const void *build_users(
	const struct objects *objects, struct users_node *node, struct diag_list *diags)
{
	struct users *users = arena_alloc(objects->scratch, sizeof(*users));
	struct str key = node_key(&node->node);
	struct auth_users read;
	bool of_keys = str_ends_with(key, STR(PLAN_USERS_OF_KEYS));
	if (of_keys)
		key.len -= sizeof(PLAN_USERS_OF_KEYS) - 1;
	const char *slash = str_find(key, '/');
	struct str namespace = {key.p, (size_t)(slash - key.p)};
	struct str name = str_skip(key, namespace.len + 1);
	const struct secret_record *secret = read_secret(objects, namespace, name);
	auth_users_read(secret, name, of_keys, objects->scratch, &read);
	tell_bad_users(objects, node, &read, diags);
	*users = (struct users){.key = {.kind = LB_USERS, .id = node_key(&node->node)}};
	users->missing = read.is_missing;
	users->users.items = read.items;
	users->users.count = read.count;
	return users;
}

/* ---- any ---- */

const void *object_build(const struct objects *objects, struct node *node, struct diag_list *diags)
{
	const void *object = NULL;
	switch (object_order(node)) {
	case ORDER_USERS:
		object = build_users(objects, (struct users_node *)(void *)node, diags);
		break;
	case ORDER_POLICY:
		object = build_policy(objects, (struct policy_node *)(void *)node);
		break;
	case ORDER_CERTIFICATE:
		object = certificate_build(objects, (struct secret_node *)(void *)node);
		break;
	case ORDER_POOL:
		object = build_pool(objects, (struct pool_node *)(void *)node, diags);
		break;
	case ORDER_BALANCER:
		object = build_balancer(objects, (struct balancer_node *)(void *)node, diags);
		break;
	case ORDER_HOST:
		object = build_host(objects, (struct host_node *)(void *)node, diags);
		break;
	case OBJECT_KINDS:
		must(false);
	}
	if (diags != NULL)
		diag_list_finish(diags);
	return object;
}

static void diagnose_ingress(
	const struct objects *objects, struct ingress_node *ingress, struct diag_list *diags)
{
	if (ingress->record.payload == NULL)
		return;
	const struct plan_slot *slot = plans_get(objects->plans, ingress);
	struct tls_context tls = secrets_context(objects->secrets);
	for (size_t i = 0; i < slot->diags.count; i++) {
		const struct diag *diag = &slot->diags.items[i];
		/* Complete already; the reason is NUL-terminated. */
		diag_add(diags, &diag->ingress, diag->reason.p, NULL, "%.*s",
			STR_FMT(diag->message));
	}
	tls_check(&slot->plan, &tls, diags);
	claims_diagnose(objects->claims, ingress, &slot->plan, diags);
	diag_list_finish(diags);
}

void object_diagnose(const struct objects *objects, struct node *node, struct diag_list *diags)
{
	if (node->kind == NODE_INGRESS || node->kind == NODE_FRONT)
		diagnose_ingress(objects, (struct ingress_node *)(void *)node, diags);
	else if (node->kind == NODE_CLASS)
		classes_diagnose(objects->classes, (struct class_node *)(void *)node, diags);
	else if (node->kind == NODE_CONFIG_MAP)
		global_options_diagnose(
			objects->options, (struct config_map_node *)(void *)node, diags);
	else if (node->kind == NODE_HOST
			 ? node_has_users(node)
			 : node->kind != NODE_SECRET && object_is_wanted(objects->secrets, node))
		(void)object_build(
			objects, node, diags); /* even a host without owner may have diagnostics */
}

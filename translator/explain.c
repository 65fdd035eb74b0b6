// SPDX-License-Identifier: Apache-2.0
#include "translator/explain.h"

#include "common/must.h"
#include "translator/keys.h"
#include "translator/engine_parts.h"
#include "translator/claim_keys.h"
#include "translator/record.h"

struct explaining {
	struct engine *engine;
	struct arena *arena;          /* holds the result */
	struct ingress_node *ingress; /* an Ingress, or a Service of type LoadBalancer */
	bool is_service;
	const struct plan *plan;
	struct str self; /* namespace/name */
	struct inspection_explanation *to;
};

static struct str keep(struct explaining *e, struct str text)
{
	return text.len != 0 ? arena_str(e->arena, text) : STR_NONE;
}

static bool is_self(const struct explaining *e, const struct object_ref *ref)
{
	return ref->is_service == e->is_service && str_eq(ref->namespace, e->to->namespace) &&
	       str_eq(ref->name, e->to->name);
}

static void add_problem(struct explaining *e, struct str reason, struct str message)
{
	for (size_t i = 0; i < e->to->problems.count; i++) {
		const struct inspection_problem *there = &e->to->problems.items[i];
		if (str_eq(there->reason, reason) && str_eq(there->message, message))
			return;
	}
	/* Unserved listeners of a Service are listed as routes already. */
	for (size_t i = 0; e->is_service && i < e->to->routes.count; i++) {
		const struct inspection_route *route = &e->to->routes.items[i];
		if (str_eq(route->reason, reason) && str_eq(route->message, message))
			return;
	}
	void *items = e->to->problems.items;
	struct inspection_problem *problem =
		arena_push(e->arena, &items, &e->to->problems.count, sizeof(*problem));
	e->to->problems.items = items;
	*problem = (struct inspection_problem){keep(e, reason), keep(e, message)};
}

static void add_problems(struct explaining *e, const struct diag_list *diags)
{
	must(diags->count == 0 || diags->items != NULL);
	for (size_t i = 0; i < diags->count; i++) {
		if (is_self(e, &diags->items[i].ingress))
			add_problem(e, diags->items[i].reason, diags->items[i].message);
	}
}

static void refuse(struct inspection_route *route, struct str reason, struct str message)
{
	route->is_served = false;
	route->reason = reason;
	route->message = message;
}

/* ---- pools ---- */

static struct str endpoint_state(const struct pool_endpoint *endpoint)
{
	if (endpoint->active)
		return STR("ready");
	return endpoint->serving ? STR("draining") : STR("not ready");
}

static void add_endpoints(
	struct explaining *e, const struct pool *pool, struct inspection_route *route)
{
	size_t active = 0;
	size_t count = pool->endpoints.count;
	route->endpoints.items = arena_calloc(e->arena, count, sizeof(*route->endpoints.items));
	for (size_t i = 0; i < count; i++) {
		const struct pool_endpoint *endpoint = &pool->endpoints.items[i];
		bool is_v6 = str_find(endpoint->ip, ':') != NULL;
		route->endpoints.items[i] = (struct inspection_endpoint){
			.address = arena_printf(e->arena, is_v6 ? "[%.*s]:%u" : "%.*s:%u",
				STR_FMT(endpoint->ip), (unsigned)endpoint->port),
			.state = endpoint_state(endpoint),
		};
		active += endpoint->active;
	}
	route->endpoints.count = count;
	/* The code that collects endpoints adds the reason. */
	if (active == 0 && pool->external_name.len == 0)
		route->is_served = false;
}

static const struct diag *own_diag(const struct explaining *e, const struct diag_list *diags)
{
	for (size_t i = 0; i < diags->count; i++) {
		if (is_self(e, &diags->items[i].ingress))
			return &diags->items[i];
	}
	return NULL;
}

/* The port as the Ingress names it, without prefix and settings that the plan adds. */
static struct str plain_port(struct explaining *e, struct str port)
{
	if (str_starts_with(port, STR("tcp:")))
		port = str_skip(port, 4);
	const char *plus = str_find(port, '+');
	return keep(e, (struct str){port.p, plus != NULL ? (size_t)(plus - port.p) : port.len});
}

static void explain_pool(struct explaining *e, struct str id, struct inspection_route *route)
{
	const struct plan_pool *wish = plan_find_pool(e->plan, id);
	struct engine *engine = e->engine;
	struct diag_list diags;
	if (wish == NULL || wish->service.len == 0) {
		refuse(route, STR("InvalidBackend"), STR("the backend is refused, see below"));
		return;
	}
	route->service = key_join(e->arena, e->to->namespace, '/', wish->service);
	route->port = plain_port(e, wish->port);
	struct record *service = graph_find(&engine->graph, NODE_SERVICE, route->service);
	if (service == NULL)
		return;
	struct pool_node *node = graph_get_pool((struct service_node *)(void *)service, wish->port);
	diag_list_init(&diags, &engine->scratch);
	const struct pool *pool = object_build(&engine->objects, &node->node, &diags);
	add_endpoints(e, pool, route);
	const struct diag *diag = own_diag(e, &diags);
	if (diag != NULL && !route->is_served)
		refuse(route, keep(e, diag->reason), keep(e, diag->message));
	else
		add_problems(e, &diags);
}

/* ---- routes ---- */

/* Whether the host's rules contain our claim. */
static bool has_rule(
	const struct explaining *e, const struct virtual_host *host, const struct path_claim *claim)
{
	for (size_t i = 0; i < host->rules.count; i++) {
		const struct path_rule *rule = &host->rules.items[i];
		if (str_eq(rule->ingress, e->self) && str_eq(rule->pool, claim->pool) &&
			str_eq(rule->path, claim->path))
			return true;
	}
	return false;
}

/* Picks from the host's diagnostics those about this path, or about all paths. */
static void refuse_rule(struct explaining *e, const struct diag_list *diags,
	const struct path_claim *claim, struct inspection_route *route)
{
	const char *quoted = diag_quote(&e->engine->scratch, claim->path);
	for (size_t i = 0; i < diags->count; i++) {
		const struct diag *diag = &diags->items[i];
		if (is_self(e, &diag->ingress) && str_eq_c(diag->reason, "HostNotOwned")) {
			refuse(route, keep(e, diag->reason), keep(e, diag->message));
			return;
		}
		if (is_self(e, &diag->ingress) && memmem(diag->message.p, diag->message.len, quoted,
							  strlen(quoted)) != NULL) {
			refuse(route, keep(e, diag->reason), keep(e, diag->message));
			return;
		}
	}
	refuse(route, STR("PathConflict"), STR("another rule of the host takes these requests"));
}

static void explain_host(struct explaining *e, const struct plan_host *wish)
{
	struct engine *engine = e->engine;
	struct host_node *node = graph_get_host(e->ingress->balancer, wish->host);
	struct diag_list diags;
	diag_list_init(&diags, &engine->scratch);
	const struct virtual_host *host = object_build(&engine->objects, &node->node, &diags);
	bool is_allowed = owners_allow(owners_of(&engine->owners, node), e->ingress);
	for (size_t i = 0; i < wish->claims.count; i++) {
		const struct path_claim *claim = &wish->claims.items[i];
		void *items = e->to->routes.items;
		struct inspection_route *route =
			arena_push(e->arena, &items, &e->to->routes.count, sizeof(*route));
		e->to->routes.items = items;
		*route = (struct inspection_route){
			.host = keep(e, host->host),
			.path = keep(e, claim->path),
			.match = claim->type,
			.is_served = true,
		};
		explain_pool(e, claim->pool, route);
		if (!has_rule(e, host, claim) && (!claim->is_implied || !is_allowed))
			refuse_rule(e, &diags, claim, route);
	}
}

static void explain_default(struct explaining *e)
{
	if (e->plan->default_pool.len == 0)
		return;
	void *items = e->to->routes.items;
	struct inspection_route *route =
		arena_push(e->arena, &items, &e->to->routes.count, sizeof(*route));
	e->to->routes.items = items;
	*route = (struct inspection_route){.match = PATH_PREFIX, .is_served = true};
	explain_pool(e, e->plan->default_pool, route);
	const struct claim_node *claim = graph_find_claim(e->ingress->balancer, STR(CLAIM_DEFAULT));
	if (e->plan->scope == BALANCER_OF_CLASS && claim != NULL && claim->holder != NULL &&
		claim->holder != e->ingress)
		refuse(route, STR("DefaultBackendConflict"),
			arena_printf(e->arena,
				"requests for hosts that nobody has go to the default backend of "
				"%.*s",
				STR_FMT(node_key(&claim->holder->record.node))));
}

/* A port of the load balancer that belongs to another owner. */
static void refuse_port(struct explaining *e, const struct diag_list *diags,
	const struct plan_port *port, struct inspection_route *route)
{
	struct str start =
		arena_printf(&e->engine->scratch, "port %llu ", (unsigned long long)port->port);
	for (size_t i = 0; i < diags->count; i++) {
		const struct diag *diag = &diags->items[i];
		if (is_self(e, &diag->ingress) && str_starts_with(diag->message, start)) {
			refuse(route, keep(e, diag->reason), keep(e, diag->message));
			return;
		}
	}
}

static bool has_port(const struct explaining *e, const struct plan_port *port)
{
	struct str key = claim_port_key(&e->engine->scratch, port->port);
	const struct claim_node *claim = graph_find_claim(e->ingress->balancer, key);
	return e->plan->scope != BALANCER_OF_CLASS || claim == NULL || claim->holder == e->ingress;
}

/* For a Service; `diags` are all its diagnostics. */
static void explain_port(
	struct explaining *e, const struct plan_port *port, const struct diag_list *diags)
{
	void *items = e->to->routes.items;
	struct inspection_route *route =
		arena_push(e->arena, &items, &e->to->routes.count, sizeof(*route));
	e->to->routes.items = items;
	*route = (struct inspection_route){
		.listener = arena_printf(e->arena, "tcp %llu", (unsigned long long)port->port),
		.is_served = true,
	};
	explain_pool(e, port->pool, route);
	if (!has_port(e, port))
		refuse_port(e, diags, port, route);
}

static void explain_tls(struct explaining *e)
{
	for (size_t i = 0; i < e->plan->tls.count; i++) {
		const struct plan_tls *wish = &e->plan->tls.items[i];
		void *items = e->to->tls.items;
		struct inspection_tls *tls =
			arena_push(e->arena, &items, &e->to->tls.count, sizeof(*tls));
		e->to->tls.items = items;
		*tls = (struct inspection_tls){.hosts = wish->hosts};
		if (wish->secret.len != 0)
			tls->secret = key_join(e->arena, e->to->namespace, '/', wish->secret);
	}
}

/* ---- the load balancer ---- */

static void add_text(struct explaining *e, struct str_list *list, struct str text)
{
	void *items = list->items;
	struct str *place = arena_push(e->arena, &items, &list->count, sizeof(*place));
	list->items = items;
	*place = text;
}

static void explain_listeners(struct explaining *e, const struct load_balancer *lb)
{
	static const char *const words[] = {[LISTENER_HTTP] = "http",
		[LISTENER_HTTPS] = "https",
		[LISTENER_TCP] = "tcp",
		[LISTENER_TLS_PASSTHROUGH] = "tls-passthrough"};
	for (size_t i = 0; i < lb->listeners.count; i++) {
		const struct listener *listener = &lb->listeners.items[i];
		add_text(e, &e->to->listeners,
			arena_printf(e->arena, "%s %u%s%.*s", words[listener->protocol],
				(unsigned)listener->port,
				str_is_empty(listener->address) ? "" : " of ",
				STR_FMT(listener->address)));
	}
	if (lb->listeners.count == 0)
		add_problem(e, STR("NoListener"),
			STR("the load balancer has no listener: nothing is served"));
}

static void explain_status(struct explaining *e)
{
	static const char *const words[] = {[LB_STATE_PENDING] = "pending",
		[LB_STATE_APPLIED] = "applied",
		[LB_STATE_FAILED] = "failed"};
	struct lb_status status;
	if (!provider_peer_is_up(e->engine->provider))
		add_problem(e, STR("ProviderAway"),
			STR("no provider is connected: what was served last goes on"));
	if (!statuses_read(e->ingress->balancer, &e->engine->scratch, &status))
		return;
	e->to->state = str_from(words[status.state]);
	e->to->state_message = keep(e, status.message);
	if (status.state == LB_STATE_FAILED)
		add_problem(e, STR("LoadBalancerFailed"), status.message);
	else if (status.state == LB_STATE_PENDING)
		add_problem(e, STR("LoadBalancerPending"),
			status.message.len != 0 ? status.message
						: STR("the provider is at work on it"));
	if (!e->is_service && publish_is_on(e->engine->publish) &&
		!publish_read(e->engine->publish, &status))
		status.addresses.count = 0;
	for (size_t i = 0; i < status.addresses.count; i++) {
		const struct address *address = &status.addresses.items[i];
		add_text(e, &e->to->addresses,
			keep(e, address->ip.len != 0 ? address->ip : address->hostname));
	}
}

static void explain_balancer(struct explaining *e)
{
	struct engine *engine = e->engine;
	struct node *node = &e->ingress->balancer->node;
	struct diag_list diags;
	bool keeps = false;
	e->to->load_balancer = keep(e, node_key(node));
	diag_list_init(&diags, &engine->scratch);
	explain_listeners(e, object_build(&engine->objects, node, &diags));
	add_problems(e, &diags);
	explain_status(e);
	diag_list_init(&diags, &engine->scratch);
	statuses_diagnose(&engine->statuses, e->ingress->balancer, &diags, &keeps);
	add_problems(e, &diags);
}

/* ---- explanations ---- */

static void explain_foreign(struct explaining *e)
{
	const struct source_settings *settings = source_peer_settings(e->engine->source);
	if (e->plan->is_unnamed)
		add_problem(e, STR("ClassNotOurs"),
			STR("it names no class, and the watcher was told not to take such "
			    "(--no-watch-ingress-without-class)"));
	else if (e->plan->named_class.len != 0 &&
		 str_eq(e->plan->named_class, settings->ingress_class))
		add_problem(e, STR("ClassNotOurs"),
			arena_printf(e->arena,
				"there is no IngressClass \"%.*s\" whose controller is %.*s",
				STR_FMT(settings->ingress_class),
				STR_FMT(settings->controller_name)));
	else
		add_problem(e, STR("ClassNotOurs"),
			arena_printf(e->arena,
				"its class%s%.*s%s is not ours: ours is \"%.*s\", or one whose "
				"controller is %.*s",
				e->plan->named_class.len != 0 ? " \"" : "",
				STR_FMT(e->plan->named_class),
				e->plan->named_class.len != 0 ? "\"" : "",
				STR_FMT(settings->ingress_class),
				STR_FMT(settings->controller_name)));
}

static void explain_inner_service(struct explaining *e)
{
	add_problem(e, STR("ServiceNotLoadBalancer"),
		STR("it is not of type LoadBalancer: only Ingresses lead to it"));
}

static void explain_foreign_service(struct explaining *e, const struct service_record *service)
{
	const struct source_settings *settings = source_peer_settings(e->engine->source);
	struct str class = service->load_balancer_class;
	if (service->type != SERVICE_LOAD_BALANCER)
		explain_inner_service(e);
	else if (e->plan->is_leaving || service->deleting)
		add_problem(e, STR("ServiceLeaves"), STR("it is being deleted"));
	else if (class.len == 0)
		add_problem(e, STR("LoadBalancerClassNotOurs"),
			STR("it names no spec.loadBalancerClass, and the watcher was not told to "
			    "take such (--default-load-balancer-class)"));
	else if (!str_eq(class, settings->load_balancer_class))
		add_problem(e, STR("LoadBalancerClassNotOurs"),
			arena_printf(e->arena, "its class \"%.*s\" is not ours: ours is \"%.*s\"",
				STR_FMT(class), STR_FMT(settings->load_balancer_class)));
}

static void explain_ours(struct explaining *e, const struct diag_list *diags)
{
	e->to->is_ours = true;
	e->to->class_name = keep(e, e->plan->class_name);
	for (size_t i = 0; i < e->plan->hosts.count; i++)
		explain_host(e, &e->plan->hosts.items[i]);
	for (size_t i = 0; e->is_service && i < e->plan->ports.count; i++)
		explain_port(e, &e->plan->ports.items[i], diags);
	explain_default(e);
	explain_tls(e);
	explain_balancer(e);
}

static void explain_owner(struct explaining *e, struct record *record)
{
	struct engine *engine = e->engine;
	struct diag_list diags;
	e->ingress = (struct ingress_node *)(void *)record;
	e->plan = plans_make(engine->plans, e->ingress, e->arena);
	diag_list_init(&diags, &engine->scratch);
	object_diagnose(&engine->objects, &record->node, &diags);
	if (e->ingress->balancer != NULL && e->plan->is_ours) {
		explain_ours(e, &diags);
	} else if ((record->node.flags & NODE_KEPT) != 0) {
		add_problem(e, STR("Unusable"), STR("this object cannot be read"));
	} else if (e->is_service) {
		struct service_record service;
		record_read(record, &engine->scratch, &service);
		explain_foreign_service(e, &service);
	} else {
		explain_foreign(e);
	}
	add_problems(e, &diags);
}

bool explain_object(struct engine *engine, enum record_kind kind, struct str namespace,
	struct str name, struct arena *arena, struct inspection_explanation *ret_explanation)
{
	struct explaining e = {.engine = engine,
		.arena = arena,
		.is_service = kind == RECORD_SERVICE,
		.to = ret_explanation};
	*ret_explanation = (struct inspection_explanation){
		.kind = e.is_service ? STR("Service") : STR("Ingress"),
		.namespace = arena_str(arena, namespace),
		.name = arena_str(arena, name),
	};
	e.self = key_join(arena, namespace, '/', name);
	struct record *record = graph_find(&engine->graph, record_node_kind(kind), e.self);
	if (record == NULL || record->payload == NULL)
		return false;
	if (!source_peer_is_whole(engine->source))
		ret_explanation->missing = keep(&e, str_from(engine_missing(engine)));
	struct record *front =
		e.is_service ? graph_find(&engine->graph, NODE_FRONT, e.self) : record;
	if (front != NULL && front->payload != NULL)
		explain_owner(&e, front);
	else
		explain_inner_service(&e);
	arena_reset(&engine->scratch);
	return true;
}

bool explain_foreign_object(struct engine *engine, enum record_kind kind, struct str namespace,
	struct str name, struct arena *arena, struct inspection_explanation *ret_explanation)
{
	const struct record *record = graph_find(
		&engine->graph, record_node_kind(kind), key_join(arena, namespace, '/', name));
	if (record == NULL || (record->node.flags & (NODE_OURS | NODE_KEPT)) != 0)
		return false;
	return explain_object(engine, kind, namespace, name, arena, ret_explanation) &&
	       !ret_explanation->is_ours;
}

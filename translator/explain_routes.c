// SPDX-License-Identifier: Apache-2.0
#include "translator/explain_routes.h"

#include "common/must.h"
#include "translator/claim_keys.h"
#include "translator/keys.h"
#include "translator/regexes.h"
#include "translator/rules_canary.h"
#include "translator/record.h"

struct str explain_keep(struct explaining *e, struct str text)
{
	return text.len != 0 ? arena_str(e->arena, text) : STR_NONE;
}

static bool is_self(const struct explaining *e, const struct object_ref *ref)
{
	return ref->is_service == e->is_service && str_eq(ref->namespace, e->to->namespace) &&
	       str_eq(ref->name, e->to->name);
}

void explain_add_problem(struct explaining *e, struct str reason, struct str message)
{
	for (size_t i = 0; i < e->to->problems.count; i++) {
		const struct inspection_problem *there = &e->to->problems.items[i];
		if (str_eq(there->reason, reason) && str_eq(there->message, message))
			return;
	}
	/* What a listener of a Service does not serve is told there. */
	for (size_t i = 0; e->is_service && i < e->to->routes.count; i++) {
		const struct inspection_route *route = &e->to->routes.items[i];
		if (str_eq(route->reason, reason) && str_eq(route->message, message))
			return;
	}
	void *items = e->to->problems.items;
	struct inspection_problem *problem =
		arena_push(e->arena, &items, &e->to->problems.count, sizeof(*problem));
	e->to->problems.items = items;
	*problem = (struct inspection_problem){explain_keep(e, reason), explain_keep(e, message)};
}

void explain_add_problems(struct explaining *e, const struct diag_list *diags)
{
	must(diags->count == 0 || diags->items != NULL);
	for (size_t i = 0; i < diags->count; i++) {
		if (is_self(e, &diags->items[i].ingress))
			explain_add_problem(e, diags->items[i].reason, diags->items[i].message);
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
	/* The reason is told by who looked for them. */
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

/* The port as the Ingress names it, without what the plan writes around it. */
static struct str plain_port(struct explaining *e, struct str port)
{
	if (key_is_passed(port))
		port = str_skip(port, sizeof(KEY_TCP) - 1);
	return explain_keep(e, str_before(port, '+'));
}

static void explain_pool(struct explaining *e, struct str id, struct inspection_route *route)
{
	const struct plan_pool *wish = plan_find_pool(e->plan, id);
	struct engine *engine = e->engine;
	struct diag_list diags;
	/* Answered without a backend. */
	if (id.len == 0)
		return;
	if (e->plan->route.is_closed) {
		refuse(route, STR("InvalidAnnotation"),
			STR("all requests are answered with 503, see below"));
		return;
	}
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
		refuse(route, explain_keep(e, diag->reason), explain_keep(e, diag->message));
	else
		explain_add_problems(e, &diags);
}

/* ---- listeners ---- */

bool explain_has_listener(const struct load_balancer *balancer, bool is_tls, uint64_t port)
{
	for (size_t i = 0; i < balancer->listeners.count; i++) {
		const struct listener *listener = &balancer->listeners.items[i];
		bool speaks = is_tls ? listener->protocol == LISTENER_HTTPS ||
					       listener->protocol == LISTENER_TLS_PASSTHROUGH
				     : listener->protocol == LISTENER_HTTP;
		if (speaks && (port == 0 || listener->port == port))
			return true;
	}
	return false;
}

static bool shows_certificate(
	struct engine *engine, struct balancer_node *balancer, struct str name)
{
	const struct claim_node *claim =
		graph_find_claim(balancer, claim_name_key(&engine->scratch, name));
	return claim != NULL && claim->shown != NULL;
}

bool explain_has_certificate(
	struct engine *engine, const struct load_balancer *balancer, struct str host)
{
	struct node *node;
	bool ends = false;
	for (size_t i = 0; i < balancer->listeners.count; i++) {
		const struct listener *listener = &balancer->listeners.items[i];
		ends |= listener->protocol == LISTENER_HTTPS;
		if (listener->default_certificate.len != 0)
			return true;
	}
	if (host.len == 0 || !ends)
		return ends;
	struct str wildcard = key_join(&engine->scratch, STR("*"), '.', host_domain(host));
	/* Chosen by server name, on the listeners of all load balancers alike. */
	RB_FOREACH (node, node_tree, &engine->graph.balancers) {
		struct balancer_node *other = (struct balancer_node *)(void *)node;
		if (shows_certificate(engine, other, host) ||
			shows_certificate(engine, other, wildcard))
			return true;
	}
	return false;
}

/* ---- routes ---- */

static bool leads_to(const struct path_rule *rule, struct str pool)
{
	bool leads = str_eq(rule->pool, pool);
	for (size_t i = 0; i < rule->pools.count && !leads; i++)
		leads = str_eq(rule->pools.items[i].pool, pool);
	return leads;
}

/* A rule of an Ingress that leads to none of its own pools has a canary that takes all requests. */
static bool is_canarys(const struct path_rule *rule, const struct plan_host *wish)
{
	for (size_t i = 0; i < wish->claims.count; i++)
		if (leads_to(rule, wish->claims.items[i].pool))
			return false;
	return rule->pool.len != 0;
}

/* Whether the host's rules have this claim of ours. */
static bool has_rule(const struct explaining *e, const struct virtual_host *host,
	const struct plan_host *wish, const struct path_claim *claim)
{
	for (size_t i = 0; i < host->rules.count; i++) {
		const struct path_rule *rule = &host->rules.items[i];
		/* What a canary has are shares of another Ingress's rules. */
		bool is_whose = claim_is_canary(claim) || str_eq(rule->ingress, e->self);
		bool is_path = rule->regex.len == 0 ? str_eq(rule->path, claim->path)
						    : regex_is_of_path(rule->regex, claim->path);
		if (is_whose && is_path && (leads_to(rule, claim->pool) || is_canarys(rule, wish)))
			return true;
	}
	return false;
}

/* Of what was told of the host, what speaks of this path, or of all of them. */
static void refuse_rule(struct explaining *e, const struct diag_list *diags,
	const struct path_claim *claim, struct inspection_route *route)
{
	const char *quoted = diag_quote(&e->engine->scratch, claim->path);
	for (size_t i = 0; i < diags->count; i++) {
		const struct diag *diag = &diags->items[i];
		if (is_self(e, &diag->ingress) && str_eq_c(diag->reason, "HostNotOwned")) {
			refuse(route, explain_keep(e, diag->reason),
				explain_keep(e, diag->message));
			return;
		}
		if (is_self(e, &diag->ingress) && memmem(diag->message.p, diag->message.len, quoted,
							  strlen(quoted)) != NULL) {
			refuse(route, explain_keep(e, diag->reason),
				explain_keep(e, diag->message));
			return;
		}
	}
	refuse(route, STR("PathConflict"), STR("another rule of the host takes these requests"));
}

/* On which listeners it is served, and whether there is one. */
static void settle_listeners(
	struct explaining *e, const struct virtual_host *host, struct inspection_route *route)
{
	bool has_http = explain_has_listener(e->balancer, false, 0);
	bool has_tls = explain_has_listener(e->balancer, true, 0);
	bool is_passthrough = host != NULL && host->passthrough;
	struct str name = host != NULL ? host->host : STR_NONE;
	route->tls_only |= is_passthrough || (has_tls && !has_http);
	if (!route->is_served || (has_http && !route->tls_only))
		return;
	if (!has_tls)
		refuse(route, STR("NoListener"),
			route->tls_only
				? STR("it is served only with TLS, and the load balancer has no "
				      "listener for that")
				: STR("the load balancer has no listener"));
	else if (!is_passthrough && !explain_has_certificate(e->engine, e->balancer, name))
		refuse(route, STR("NoCertificate"),
			arena_printf(e->arena,
				"it is served only with TLS, and there is no certificate for %.*s",
				STR_FMT(name)));
}

/* Of a wildcard. */
static void list_excluded(
	struct explaining *e, const struct host_node *host, struct inspection_route *route)
{
	struct balancer_node *balancer = host->balancer;
	struct str name = node_host(&host->node);
	bool is_passthrough = str_starts_with(node_key(&host->node), STR(PLAN_PASSTHROUGH));
	struct node *node = str_starts_with(name, STR("*."))
				    ? graph_first_below(balancer, str_skip(name, 2))
				    : NULL;
	for (; node != NULL; node = graph_next_below(node)) {
		bool passes = str_starts_with(node_key(node), STR(PLAN_PASSTHROUGH));
		if (node->kind != NODE_HOST || passes != is_passthrough ||
			!object_is_wanted(e->engine->secrets, node))
			continue;
		if (route->excluded_hosts.count == INSPECTION_EXCLUDED_HOSTS_MAX) {
			route->has_more_excluded = true;
			return;
		}
		void *items = route->excluded_hosts.items;
		struct str *place =
			arena_push(e->arena, &items, &route->excluded_hosts.count, sizeof(*place));
		route->excluded_hosts.items = items;
		*place = explain_keep(e, node_host(node));
	}
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
			.host = explain_keep(e, host->host),
			.path = explain_keep(e, claim->path),
			.match = claim->type,
			.tls_only = claim->tls_only,
			.is_served = true,
		};
		list_excluded(e, node, route);
		explain_pool(e, claim->pool, route);
		if (!has_rule(e, host, wish, claim) && (!claim->is_implied || !is_allowed))
			refuse_rule(e, &diags, claim, route);
		settle_listeners(e, host, route);
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
	settle_listeners(e, NULL, route);
}

/* A port of the load balancer that belongs to somebody else. */
static void refuse_port(struct explaining *e, const struct diag_list *diags,
	const struct plan_port *port, struct inspection_route *route)
{
	struct str start = arena_printf(&e->engine->scratch, "%sport %llu ",
		port->protocol == LISTENER_UDP ? PLAN_UDP_WORD : "",
		(unsigned long long)port->port);
	for (size_t i = 0; i < diags->count; i++) {
		const struct diag *diag = &diags->items[i];
		if (is_self(e, &diag->ingress) && str_starts_with(diag->message, start)) {
			refuse(route, explain_keep(e, diag->reason),
				explain_keep(e, diag->message));
			return;
		}
	}
}

static bool has_port(const struct explaining *e, const struct plan_port *port)
{
	struct str key = claim_port_key(&e->engine->scratch, port->port, port->protocol);
	const struct claim_node *claim = graph_find_claim(e->ingress->balancer, key);
	return e->plan->scope != BALANCER_OF_CLASS || claim == NULL || claim->holder == e->ingress;
}

/* Of a Service: `diags` are all that it was told. */
static void explain_port(
	struct explaining *e, const struct plan_port *port, const struct diag_list *diags)
{
	void *items = e->to->routes.items;
	struct inspection_route *route =
		arena_push(e->arena, &items, &e->to->routes.count, sizeof(*route));
	e->to->routes.items = items;
	*route = (struct inspection_route){
		.listener = arena_printf(e->arena, "%s %llu",
			port->protocol == LISTENER_UDP ? "udp" : "tcp",
			(unsigned long long)port->port),
		.is_served = true,
	};
	explain_pool(e, port->pool, route);
	if (!has_port(e, port))
		refuse_port(e, diags, port, route);
}

void explain_routes(struct explaining *e, const struct diag_list *diags)
{
	struct diag_list told;
	diag_list_init(&told, &e->engine->scratch);
	e->balancer = object_build(&e->engine->objects, &e->ingress->balancer->node, &told);
	for (size_t i = 0; i < e->plan->hosts.count; i++)
		explain_host(e, &e->plan->hosts.items[i]);
	for (size_t i = 0; e->is_service && i < e->plan->ports.count; i++)
		explain_port(e, &e->plan->ports.items[i], diags);
	explain_default(e);
}

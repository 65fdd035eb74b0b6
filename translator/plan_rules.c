// SPDX-License-Identifier: Apache-2.0
/*
 * The checked rules of an Ingress: hosts with their path claims, and the pools they lead to.
 */
#include "translator/plan_maker.h"

#include "common/ascii.h"
#include "translator/hosts.h"
#include "translator/keys.h"
#include "translator/paths.h"
#include "translator/policies.h"
#include "translator/regexes.h"

#include <stdlib.h>

/* ---- backends ---- */

bool plan_is_name(struct str s)
{
	return s.len != 0 && s.len <= 253 && ascii_is_made_of(s, "-._");
}

static bool is_digits(struct str s)
{
	for (size_t i = 0; i < s.len; i++) {
		if (s.p[i] < '0' || s.p[i] > '9')
			return false;
	}
	return true;
}

static const char *check_backend(const struct plan_maker *m, const struct ingress_backend *backend)
{
	if (!str_is_empty(backend->resource))
		return arena_printf(m->arena, "%s is no Service, and nothing else can be served",
			diag_quote(m->arena, backend->resource))
			.p;
	if (!plan_is_name(backend->service))
		return "it names no Service";
	if (backend->port_number == 0 && !plan_is_name(backend->port_name))
		return "it names no port";
	return NULL;
}

/* Where a backend is specified. */
struct backend_place {
	bool is_default;
	size_t rule;
	size_t position;
};

static void tell_backend(
	const struct plan_maker *m, const struct backend_place *place, const char *problem)
{
	struct str field = STR("spec.defaultBackend");
	if (!place->is_default)
		field = arena_printf(m->arena, "spec.rules[%zu].http.paths[%zu].backend",
			place->rule, place->position);
	diag_add(m->diags, &m->plan->self, "InvalidBackend", field.p,
		"the backend cannot be used, requests are answered with 503: %s", problem);
}

static struct str pool_port(const struct plan_maker *m, const struct ingress_backend *backend)
{
	if (backend->port_number != 0)
		return key_number(m->arena, backend->port_number);
	if (is_digits(backend->port_name))
		return arena_printf(m->arena, "name:%.*s", STR_FMT(backend->port_name));
	return backend->port_name;
}

/* An invalid backend becomes a pool without endpoints: the route stays and answers 503, so that its
 * requests do not fall through to a shorter path, or to another owner. Returns the id. */
static struct str add_pool(const struct plan_maker *m, const struct ingress_backend *backend,
	const struct backend_place *place)
{
	const char *problem = check_backend(m, backend);
	struct plan_pool pool = {.service = STR(""), .port = STR("none")};
	if (problem != NULL)
		tell_backend(m, place, problem);
	else if (!m->plan->route.is_closed)
		pool = (struct plan_pool){
			.service = backend->service, .port = pool_port(m, backend)};
	if (m->plan->is_passthrough)
		pool.port = key_join(m->arena, STR("tcp"), ':', pool.port);
	if (m->plan->scope == BALANCER_OF_CLASS)
		policies_settle_pool(m->plan, m->arena, &pool);
	struct str service = key_join(m->arena, m->plan->self.namespace, '/', pool.service);
	pool.id = key_join(m->arena, service, ':', pool.port);
	*PLAN_PUSH(m, &m->plan->pools) = pool;
	return pool.id;
}

/* Whether its requests go to the backends as they are: otherwise only its rules say what is done with them. */
static bool is_plain(const struct plan *plan)
{
	const struct claim_route *route = plan->claim_route;
	return route == NULL ||
	       (str_is_empty(route->policy) && route->redirect == NULL && route->answer == NULL);
}

/* A canary has none: it has only shares of rules. */
static const struct ingress_backend *default_backend(const struct plan_maker *m)
{
	return m->plan->route.canary == NULL ? m->ingress->default_backend : NULL;
}

/* Where the requests go; empty if they are answered without a backend. */
static struct str lead_to(const struct plan_maker *m, const struct ingress_backend *backend,
	const struct backend_place *place)
{
	const struct route_settings *route = &m->plan->route;
	if (route->redirect != NULL || route->answer != NULL)
		return STR("");
	return add_pool(m, backend, place);
}

static bool is_of_policy(const struct policy *policy, struct str id)
{
	for (size_t i = 0; i < policy->mirrors.count; i++) {
		if (str_eq(policy->mirrors.items[i].pool, id))
			return true;
	}
	return str_eq(policy->fallback_pool, id) ||
	       (policy->external_auth != NULL && str_eq(policy->external_auth->pool, id)) ||
	       (policy->error_pages != NULL && str_eq(policy->error_pages->pool, id));
}

/* The pools that the policy names. */
static void add_pools_of_policy(const struct plan_maker *m)
{
	static const struct backend_wish anybody = {
		.protocol = BACKEND_HTTPS, .verify = SWITCH_OFF};
	static const struct backend_wish proven = {.protocol = BACKEND_HTTPS, .verify = SWITCH_ON};
	const struct route_settings *route = &m->plan->route;
	for (size_t i = 0; i < route->pools.count; i++) {
		const struct route_pool *pool = &route->pools.items[i];
		if (!is_of_policy(&route->policy, pool->id))
			continue;
		*PLAN_PUSH(m, &m->plan->pools) = (struct plan_pool){.id = pool->id,
			.namespace = pool->namespace,
			.service = pool->service,
			.port = pool->port,
			.backend = !pool->is_https    ? NULL
				   : pool->is_foreign ? &proven
						      : &anybody};
	}
}

struct str plan_backend_id(struct str namespace, struct str name, struct arena *arena)
{
	return arena_printf(
		arena, "%.*s/%.*s:" ROUTE_FIRST_PORT, STR_FMT(namespace), STR_FMT(name));
}

/* It exists as long as somebody is served, whoever that is. */
static void add_default_backend(const struct plan_maker *m)
{
	const struct plan_context *context = m->context;
	if (m->plan->scope != BALANCER_OF_CLASS || str_is_empty(context->backend_name))
		return;
	*PLAN_PUSH(m, &m->plan->pools) = (struct plan_pool){
		.id = plan_backend_id(context->backend_namespace, context->backend_name, m->arena),
		.namespace = context->backend_namespace,
		.service = context->backend_name,
		.port = STR(ROUTE_FIRST_PORT)};
}

static int compare_pools(const void *left, const void *right)
{
	return str_cmp(((const struct plan_pool *)left)->id, ((const struct plan_pool *)right)->id);
}

static void sort_pools(struct plan *plan)
{
	size_t kept = 0;
	if (plan->pools.count > 1)
		qsort(plan->pools.items, plan->pools.count, sizeof(struct plan_pool),
			compare_pools);
	for (size_t i = 0; i < plan->pools.count; i++) {
		if (kept == 0 || !str_eq(plan->pools.items[kept - 1].id, plan->pools.items[i].id))
			plan->pools.items[kept++] = plan->pools.items[i];
	}
	plan->pools.count = kept;
}

/* ---- hosts and paths ---- */

static struct path_claim claim_of(const struct plan_maker *m, size_t rule, size_t position)
{
	return (struct path_claim){.ingress = &m->plan->self,
		.created = m->plan->created,
		.tls_only = m->plan->is_tls_only,
		.route = m->plan->claim_route,
		.is_greater_first = m->plan->is_nginx,
		.rule = rule,
		.position = position};
}

/* A closed path is no regular expression: it takes what the expression could match. */
static void close_regex(const struct ingress_path *path, struct path_claim *claim)
{
	if (path_check(path->path, path->type) == NULL)
		return;
	claim->path = regex_prefix(path->path);
	claim->type = PATH_PREFIX;
}

/* NULL, or why the path cannot be served. */
static const char *set_path(
	const struct plan_maker *m, const struct ingress_path *path, struct path_claim *claim)
{
	const struct route_settings *route = &m->plan->route;
	claim->path = path_normal(path->path);
	claim->type = path->type;
	/* What a canary's path means says the Ingress whose path it is. */
	if (!route->has_regex && route->canary == NULL)
		return path_check(path->path, path->type);
	if (!str_starts_with(claim->path, STR("/")))
		return "must begin with '/'";
	const char *problem = regex_check(regex_of_path(claim->path, true, m->arena), m->arena);
	if (problem == NULL && route->is_closed)
		close_regex(path, claim);
	return problem;
}

/* The path that is rewritten to itself stays as it is, but what is below it becomes it, as there. */
static void keep_path(const struct plan_maker *m, struct hosted_list *list, struct hosted *base,
	enum path_type type)
{
	struct str path = base->claim.path;
	if (m->plan->kept_route == NULL)
		return;
	if (m->plan->route.kept_is_two && type != PATH_EXACT && path.p[path.len - 1] != '/') {
		struct hosted below = *base;
		below.claim.path = arena_printf(m->arena, "%.*s/", STR_FMT(path));
		*PLAN_PUSH(m, list) = below;
	}
	base->claim.route = m->plan->kept_route;
}

static void add_path(const struct plan_maker *m, struct hosted_list *list, struct hosted base,
	const struct ingress_path *path)
{
	size_t rule = base.claim.rule;
	size_t position = base.claim.position;
	const char *problem = set_path(m, path, &base.claim);
	if (problem != NULL) {
		diag_add(m->diags, &m->plan->self, "InvalidPath",
			arena_printf(
				m->arena, "spec.rules[%zu].http.paths[%zu].path", rule, position)
				.p,
			"%s is not served: %s", diag_quote(m->arena, path->path), problem);
		return;
	}
	const struct route_settings *route = &m->plan->route;
	struct backend_place place = {.rule = rule, .position = position};
	/* A canary that is closed takes nothing from others. */
	base.has_claim = m->plan->route.canary == NULL || !m->plan->route.is_closed;
	base.claim.pool = lead_to(m, &path->backend, &place);
	if (route->kept_path.len != 0 && str_eq(base.claim.path, route->kept_path))
		keep_path(m, list, &base, path->type);
	*PLAN_PUSH(m, list) = base;
}

static void add_implied(const struct plan_maker *m, struct hosted_list *list, struct hosted base)
{
	base.has_claim = true;
	base.claim.path = STR("/");
	base.claim.type = PATH_PREFIX;
	base.claim.is_implied = true;
	base.claim.pool = m->plan->default_pool;
	*PLAN_PUSH(m, list) = base;
}

static void add_rule(const struct plan_maker *m, struct hosted_list *list, size_t index)
{
	const struct ingress_rule *rule = &m->ingress->rules.items[index];
	struct plan *plan = m->plan;
	struct hosted base = {.host = host_lower(m->arena, rule->host)};
	const char *problem = host_check(base.host, &base.match);
	if (problem != NULL) {
		diag_add(m->diags, &plan->self, "InvalidHost",
			arena_printf(m->arena, "spec.rules[%zu].host", index).p,
			"%s is not served: %s", diag_quote(m->arena, rule->host), problem);
		return;
	}
	for (size_t i = 0; i < rule->paths.count; i++) {
		base.claim = claim_of(m, index, i);
		add_path(m, list, base, &rule->paths.items[i]);
	}
	base.claim = claim_of(m, index, rule->paths.count);
	bool has_default = default_backend(m) != NULL;
	/* On a load balancer of its own, the default pool takes requests that match no path. On a shared
	 * one that could be another Ingress's. */
	if (has_default &&
		(rule->paths.count == 0 || plan->scope != BALANCER_OF_INGRESS || !is_plain(plan))) {
		add_implied(m, list, base);
		return;
	}
	/* Keeps the host known, so that its requests do not go to a wildcard. */
	*PLAN_PUSH(m, list) = base;
	if (rule->paths.count == 0)
		diag_add(m->diags, &plan->self, "NoBackend",
			arena_printf(m->arena, "spec.rules[%zu]", index).p,
			"neither the rule has paths nor the Ingress a default backend: requests "
			"are answered with 404");
}

/* ---- TLS passthrough ---- */

static const char *check_passthrough(const struct ingress_rule *rule, struct str host)
{
	if (str_is_empty(host))
		return "TLS is passed through by server name, so the rule needs a host";
	if (rule->paths.count > 1)
		return "what is passed through is not looked into: only one path, \"/\", can be";
	if (rule->paths.count == 1 && !str_is_empty(rule->paths.items[0].path) &&
		!str_eq_c(rule->paths.items[0].path, "/"))
		return "what is passed through is not looked into: the only path can be \"/\"";
	return NULL;
}

static void add_passthrough(const struct plan_maker *m, struct hosted_list *list, size_t index)
{
	const struct ingress_rule *rule = &m->ingress->rules.items[index];
	struct plan *plan = m->plan;
	struct backend_place place = {.rule = index};
	struct hosted base = {.host = host_lower(m->arena, rule->host), .has_claim = true};
	const char *problem = host_check(base.host, &base.match);
	if (problem == NULL)
		problem = check_passthrough(rule, base.host);
	if (problem == NULL && rule->paths.count == 0 && str_is_empty(plan->default_pool))
		problem = "neither the rule has a path nor the Ingress a default backend";
	if (problem != NULL) {
		diag_add(m->diags, &plan->self, "PassthroughRefused",
			arena_printf(m->arena, "spec.rules[%zu]", index).p, "%s is not served: %s",
			diag_quote(m->arena, rule->host), problem);
		return;
	}
	base.host = arena_printf(m->arena, PLAN_PASSTHROUGH "%.*s", STR_FMT(base.host));
	base.claim = claim_of(m, index, 0);
	base.claim.path = STR("/");
	base.claim.type = PATH_PREFIX;
	base.claim.pool = rule->paths.count == 0
				  ? plan->default_pool
				  : add_pool(m, &rule->paths.items[0].backend, &place);
	*PLAN_PUSH(m, list) = base;
}

/* Passthrough needs a server name, so only rules without a path use the default pool. */
static void drop_default(const struct plan_maker *m)
{
	bool used = str_is_empty(m->plan->default_pool);
	for (size_t i = 0; i < m->ingress->rules.count; i++)
		used |= m->ingress->rules.items[i].paths.count == 0;
	m->plan->default_pool = STR_NONE;
	if (!used)
		diag_add(m->diags, &m->plan->self, "PassthroughRefused", "spec.defaultBackend",
			"it is not used: TLS is passed through by server name only");
}

/* Requests to a load balancer's default pool have no policy. Where there is something to be done with them, they are those of the host of rules without
 * one instead. */
static void rule_default(const struct plan_maker *m, struct hosted_list *list)
{
	struct hosted base = {.match = HOST_ANY, .claim = claim_of(m, m->ingress->rules.count, 0)};
	base.host = STR("");
	add_implied(m, list, base);
	m->plan->default_pool = STR_NONE;
}

static int compare_hosted(const void *left, const void *right)
{
	const struct hosted *a = left;
	const struct hosted *b = right;
	int order = str_cmp(a->host, b->host);
	if (order == 0)
		order = (a->claim.rule > b->claim.rule) - (a->claim.rule < b->claim.rule);
	if (order != 0)
		return order;
	return (a->claim.position > b->claim.position) - (a->claim.position < b->claim.position);
}

static void gather_hosts(const struct plan_maker *m, struct hosted_list *list)
{
	struct plan_host *host = NULL;
	if (list->count > 1)
		qsort(list->items, list->count, sizeof(*list->items), compare_hosted);
	for (size_t i = 0; i < list->count; i++) {
		const struct hosted *h = &list->items[i];
		if (host == NULL || !str_eq(host->host, h->host)) {
			host = PLAN_PUSH(m, &m->plan->hosts);
			*host = (struct plan_host){.host = h->host, .match = h->match};
		}
		if (h->has_claim)
			*PLAN_PUSH(m, &host->claims) = h->claim;
	}
}

void plan_read_rules(const struct plan_maker *m)
{
	struct hosted_list list = {0};
	struct backend_place place = {.is_default = true};
	if (default_backend(m) != NULL)
		m->plan->default_pool = lead_to(m, default_backend(m), &place);
	for (size_t i = 0; i < m->ingress->rules.count; i++) {
		if (m->plan->is_passthrough)
			add_passthrough(m, &list, i);
		else
			add_rule(m, &list, i);
	}
	if (!m->plan->is_passthrough)
		plan_add_extras(m, &list);
	if (m->plan->is_passthrough)
		drop_default(m);
	else if (m->plan->route.default_is_of_hosts && m->ingress->rules.count != 0)
		m->plan->default_pool = STR_NONE;
	else if (default_backend(m) != NULL && !is_plain(m->plan))
		rule_default(m, &list);
	gather_hosts(m, &list);
	add_pools_of_policy(m);
	add_default_backend(m);
	sort_pools(m->plan);
}

/* ---- lookup ---- */

const struct plan_pool *plan_find_pool(const struct plan *plan, struct str id)
{
	struct plan_pool wanted = {.id = id};
	if (plan->pools.count == 0)
		return NULL;
	return bsearch(
		&wanted, plan->pools.items, plan->pools.count, sizeof(wanted), compare_pools);
}

const struct plan_host *plan_find_host(const struct plan *plan, struct str host)
{
	size_t low = 0;
	size_t high = plan->hosts.count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = str_cmp(plan->hosts.items[middle].host, host);
		if (order == 0)
			return &plan->hosts.items[middle];
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

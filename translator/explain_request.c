// SPDX-License-Identifier: Apache-2.0
#include "translator/explain_request.h"

#include "translator/claim_keys.h"
#include "translator/explain.h"
#include "translator/explain_routes.h"
#include "translator/hosts.h"
#include "translator/keys.h"
#include "translator/paths.h"
#include "translator/regexes.h"

/* ---- the URL ---- */

static struct str take_until(struct str *rest, const char *ends)
{
	size_t len = 0;
	while (len < rest->len && strchr(ends, rest->p[len]) == NULL)
		len++;
	struct str taken = {rest->p, len};
	*rest = str_skip(*rest, len);
	return taken;
}

static const char *read_port(struct str text, uint64_t *ret_port)
{
	int64_t port;
	if (!str_to_int(text, 1, UINT16_MAX, &port))
		return "the port is not a number from 1 to 65535";
	*ret_port = (uint64_t)port;
	return NULL;
}

const char *explain_read_url(
	struct str url, struct arena *arena, struct explain_request *ret_request)
{
	struct explain_request request = {.is_tls = str_starts_with(url, STR("https://"))};
	if (url.len > EXPLAIN_URL_LEN_MAX || memchr(url.p, '\0', url.len) != NULL)
		return "it is too long, or no text";
	if (!request.is_tls && !str_starts_with(url, STR("http://")))
		return "it must begin with http:// or https://";
	struct str rest = str_skip(url, request.is_tls ? 8 : 7);
	struct str authority = take_until(&rest, "/?#");
	bool is_v6 = str_starts_with(authority, STR("["));
	struct str after = authority;
	struct str host = take_until(&after, is_v6 ? "]" : ":");
	if (is_v6 && after.len != 0) {
		host.len++;
		after = str_skip(after, 1);
	}
	if (str_starts_with(after, STR(":"))) {
		const char *problem = read_port(str_skip(after, 1), &request.port);
		if (problem != NULL)
			return problem;
	} else if (after.len != 0) {
		return "what follows the host is no port";
	}
	if (str_ends_with(host, STR(".")))
		host.len--;
	if (host.len == 0)
		return "it names no host";
	request.host = host_lower(arena, host);
	request.path = path_normal(take_until(&rest, "?#"));
	*ret_request = request;
	return NULL;
}

/* ---- where it goes ---- */

struct lookup {
	struct engine *engine;
	const struct explain_request *request;
	struct arena *arena; /* of the result */
	struct inspection_explanation *to;
	/* The best so far. */
	struct balancer_node *balancer;
	struct host_node *host; /* NULL: none; only the default backend is left */
	int rank;
};

static struct host_node *find_host(
	struct lookup *l, struct balancer_node *balancer, const char *prefix, struct str name)
{
	struct str key = arena_printf(&l->engine->scratch, "%s%.*s", prefix, STR_FMT(name));
	struct host_node *host = graph_find_host(balancer, key);
	return host != NULL && object_is_wanted(l->engine->secrets, &host->node) ? host : NULL;
}

enum { RANK_NONE, RANK_ANY, RANK_WILDCARD, RANK_EXACT };

/* The most specific host with this prefix. */
static int search_hosts(struct lookup *l, struct balancer_node *balancer, const char *prefix,
	struct host_node **ret_host)
{
	struct str name = l->request->host;
	struct str domain = host_domain(name);
	struct str names[] = {
		[RANK_ANY] = STR_NONE,
		[RANK_WILDCARD] = key_join(&l->engine->scratch, STR("*"), '.', domain),
		[RANK_EXACT] = name,
	};
	for (int rank = RANK_EXACT; rank > RANK_NONE; rank--) {
		if (rank == RANK_WILDCARD && domain.len == 0)
			continue;
		*ret_host = find_host(l, balancer, prefix, names[rank]);
		if (*ret_host != NULL)
			return rank;
	}
	return RANK_NONE;
}

static const struct load_balancer *build_balancer(struct lookup *l, struct balancer_node *balancer)
{
	struct diag_list diags;
	diag_list_init(&diags, &l->engine->scratch);
	return object_build(&l->engine->objects, &balancer->node, &diags);
}

static void look_at(struct lookup *l, struct balancer_node *balancer)
{
	struct host_node *host = NULL;
	int rank = RANK_NONE;
	if (!object_is_wanted(l->engine->secrets, &balancer->node))
		return;
	/* Server names whose TLS is passed through are looked up first. */
	if (l->request->is_tls)
		rank = search_hosts(l, balancer, PLAN_PASSTHROUGH, &host);
	if (rank == RANK_NONE)
		rank = search_hosts(l, balancer, "", &host);
	if (l->balancer != NULL && rank <= l->rank)
		return;
	if (!explain_has_listener(
		    build_balancer(l, balancer), l->request->is_tls, l->request->port))
		return;
	l->balancer = balancer;
	l->host = host;
	l->rank = rank;
}

/* ---- what becomes of it there ---- */

static void refuse(struct lookup *l, struct str reason, struct str message)
{
	struct inspection_problem *problem = arena_alloc(l->arena, sizeof(*problem));
	*problem = (struct inspection_problem){reason, message};
	l->to->problems.items = problem;
	l->to->problems.count = 1;
}

static bool is_about_balancer(struct str reason)
{
	return str_eq_c(reason, "ProviderAway") || str_eq_c(reason, "LoadBalancerFailed") ||
	       str_eq_c(reason, "LoadBalancerPending");
}

static bool is_route(
	const struct inspection_route *route, struct str host, const struct path_rule *rule)
{
	/* Of two with the same path the second is never asked. Nor is the kind of match where paths are regular expressions. */
	bool same = rule->regex.len == 0
			    ? str_eq(route->path, rule->path) && route->match == rule->match
			    : regex_is_of_path(rule->regex, route->path);
	return str_eq(route->host, host) && same && !str_eq_c(route->reason, "DuplicatePath");
}

/* Of the Ingress, as it was explained, leaves the one route. `rule`: NULL: what no rule takes. */
static void keep_route(struct lookup *l, struct str host, const struct path_rule *rule)
{
	static const struct path_rule fallback = {.match = PATH_PREFIX};
	struct inspection_explanation *to = l->to;
	size_t kept = 0;
	for (size_t i = 0; i < to->routes.count; i++) {
		if (is_route(&to->routes.items[i], host, rule != NULL ? rule : &fallback)) {
			to->routes.items[0] = to->routes.items[i];
			kept = 1;
			break;
		}
	}
	to->routes.count = kept;
	kept = 0;
	for (size_t i = 0; i < to->problems.count; i++) {
		if (is_about_balancer(to->problems.items[i].reason))
			to->problems.items[kept++] = to->problems.items[i];
	}
	to->problems.count = kept;
}

/* `ingress`: namespace/name. */
static void explain_rule(
	struct lookup *l, struct str ingress, struct str host, const struct path_rule *rule)
{
	struct path_rule own = {.match = PATH_PREFIX};
	const char *slash = str_find(ingress, '/');
	struct str namespace = {ingress.p, slash != NULL ? (size_t)(slash - ingress.p) : 0};
	struct str name = str_skip(ingress, namespace.len + 1);
	/* The scratch arena is emptied by what follows. */
	if (rule != NULL)
		own = (struct path_rule){.path = arena_str(l->arena, rule->path),
			.match = rule->match,
			.regex = arena_str(l->arena, rule->regex)};
	host = arena_str(l->arena, host);
	namespace = arena_str(l->arena, namespace);
	name = arena_str(l->arena, name);
	(void)explain_object(l->engine, RECORD_INGRESS, namespace, name, l->arena, l->to);
	keep_route(l, host, rule != NULL ? &own : NULL);
}

static bool takes(const struct path_rule *rule, struct str path)
{
	struct str stem = path_stem(rule->path);
	/* Which of the conditions hold is not known: without any header the last rule of a path takes it. */
	if (rule->conditions.count != 0)
		return false;
	if (rule->regex.len != 0)
		return regex_finds(rule->regex, path);
	if (rule->match == PATH_EXACT)
		return str_eq(rule->path, path);
	return str_starts_with(path, stem) && (path.len == stem.len || path.p[stem.len] == '/');
}

static const struct path_rule *find_rule(
	const struct lookup *l, const struct virtual_host *host, bool with_tls)
{
	for (size_t i = 0; i < host->rules.count; i++) {
		const struct path_rule *rule = &host->rules.items[i];
		/* Of a connection that is passed through nobody sees the path. */
		if ((!rule->tls_only || with_tls) &&
			(host->passthrough || takes(rule, l->request->path)))
			return rule;
	}
	return NULL;
}

/* The Ingress whose default backend takes what nothing else does; NULL: there is none. */
static const struct ingress_node *find_default(struct lookup *l)
{
	struct engine *engine = l->engine;
	struct use *use;
	const struct claim_node *claim = graph_find_claim(l->balancer, STR(CLAIM_DEFAULT));
	if (provider_peer_is_merged(engine->provider))
		return claim != NULL ? claim->holder : NULL;
	const struct load_balancer *balancer = build_balancer(l, l->balancer);
	struct str pool = arena_str(l->arena, balancer->default_pool);
	RB_FOREACH (use, use_tree, &l->balancer->node.users) {
		if (pool.len != 0 &&
			str_eq(plans_get(engine->plans, use->user)->plan.default_pool, pool))
			return use->user;
	}
	return NULL;
}

static const struct host_node *find_wildcard(struct lookup *l)
{
	struct str domain = host_domain(l->request->host);
	return domain.len != 0 ? find_host(l, l->balancer, "",
					 key_join(&l->engine->scratch, STR("*"), '.', domain))
			       : NULL;
}

/* What becomes of a request that no rule takes. */
static const char *answer_of_none(const struct lookup *l)
{
	const struct engine_config *config = &l->engine->config;
	if (str_is_empty(config->backend_name) || !provider_peer_is_merged(l->engine->provider))
		return "the answer is 404";
	return arena_printf(l->arena, "Service %.*s/%.*s of --default-backend answers",
		STR_FMT(config->backend_namespace), STR_FMT(config->backend_name))
		.p;
}

static void explain_none(struct lookup *l, const struct virtual_host *host)
{
	const char *answer = answer_of_none(l);
	const struct explain_request *request = l->request;
	const struct path_rule *rule = host != NULL ? find_rule(l, host, true) : NULL;
	l->to->load_balancer = arena_str(l->arena, node_key(&l->balancer->node));
	if (rule != NULL)
		refuse(l, STR("HTTPNotAllowed"),
			arena_printf(l->arena,
				"Ingress %.*s serves this path of host %.*s only with TLS: without "
				"it the answer is 404",
				STR_FMT(rule->ingress), STR_FMT(request->host)));
	else if (host == NULL)
		refuse(l, STR("NoRoute"),
			arena_printf(l->arena, "no Ingress has the host %.*s: %s",
				STR_FMT(request->host), answer));
	else if (host->match == HOST_EXACT && find_wildcard(l) != NULL)
		refuse(l, STR("NoRoute"),
			arena_printf(l->arena,
				"host %.*s has no route for this path, and those of %.*s do not "
				"count for it: %s",
				STR_FMT(request->host), STR_FMT(node_host(&find_wildcard(l)->node)),
				answer));
	else
		refuse(l, STR("NoRoute"),
			arena_printf(l->arena, "%s%.*s has no route for this path: %s",
				host->match == HOST_ANY ? "what is for any host" : "host ",
				STR_FMT(host->host), answer));
}

static void explain_at(struct lookup *l)
{
	struct diag_list diags;
	const struct virtual_host *host = NULL;
	diag_list_init(&diags, &l->engine->scratch);
	if (l->host != NULL)
		host = object_build(&l->engine->objects, &l->host->node, &diags);
	bool is_passthrough = host != NULL && host->passthrough;
	if (l->request->is_tls && !is_passthrough &&
		!explain_has_certificate(
			l->engine, build_balancer(l, l->balancer), l->request->host)) {
		l->to->load_balancer = arena_str(l->arena, node_key(&l->balancer->node));
		refuse(l, STR("NoCertificate"),
			arena_printf(l->arena,
				"there is no certificate for %.*s, and no default one: clients "
				"get none that they trust",
				STR_FMT(l->request->host)));
		return;
	}
	const struct path_rule *rule = host != NULL ? find_rule(l, host, l->request->is_tls) : NULL;
	if (rule != NULL) {
		explain_rule(l, rule->ingress, host->host, rule);
		return;
	}
	const struct ingress_node *fallback = find_default(l);
	if (fallback != NULL)
		explain_rule(l, node_key(&fallback->record.node), STR_NONE, NULL);
	else
		explain_none(l, host);
}

void explain_find_route(struct engine *engine, const struct explain_request *request,
	struct arena *arena, struct inspection_explanation *ret_explanation)
{
	struct lookup l = {
		.engine = engine, .request = request, .arena = arena, .to = ret_explanation};
	struct node *balancer;
	*ret_explanation = (struct inspection_explanation){0};
	RB_FOREACH (balancer, node_tree, &engine->graph.balancers) {
		look_at(&l, (struct balancer_node *)(void *)balancer);
		arena_reset(&engine->scratch);
	}
	if (l.balancer != NULL)
		explain_at(&l);
	else if (request->port == 0)
		refuse(&l, STR("NoListener"),
			arena_printf(arena, "no load balancer listens for %s",
				request->is_tls ? "HTTPS" : "HTTP"));
	else
		refuse(&l, STR("NoListener"),
			arena_printf(arena, "no load balancer listens for %s on port %llu",
				request->is_tls ? "HTTPS" : "HTTP",
				(unsigned long long)request->port));
	const char *missing = source_peer_is_whole(engine->source) ? NULL : engine_missing(engine);
	ret_explanation->missing = arena_str(arena, str_from(missing));
	arena_reset(&engine->scratch);
}

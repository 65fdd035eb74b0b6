// SPDX-License-Identifier: Apache-2.0
#include "provider-rancher/rules.h"

#include "common/ascii.h"
#include "provider-common/plain_rule.h"
#include "provider-common/digest.h"
#include "provider-rancher/stored_text.h"

#include <stdlib.h>

struct collector {
	const struct rules_lookup *lookup;
	struct arena *arena;
	struct notices *notices;
	struct routes *routes;
};

/* ---- pools ---- */

static void note_protocol(
	struct collector *c, const struct pool *pool, struct str ingress, struct str service)
{
	if (pool->protocol == POOL_HTTPS || pool->protocol == POOL_H2C)
		notices_add(c->notices, NOTICE_BACKEND_PROTOCOL, ingress, service);
	if (pool->algorithm != ALGORITHM_ROUND_ROBIN)
		notices_add(c->notices, NOTICE_ALGORITHM, ingress, service);
	if (pool->mixed_target_ports)
		notices_add(c->notices, NOTICE_TARGET_PORTS_MIXED, ingress, service);
	if (!pool->has_selector)
		notices_add(c->notices, NOTICE_SERVICE_WITHOUT_SELECTOR, ingress, service);
}

static void add_unknown(struct collector *c, struct str uid)
{
	struct str *place = arena_push(c->arena, (void **)&c->routes->unknown_uids,
		&c->routes->unknown_count, sizeof(*place));
	*place = uid;
}

/* Fills in the target of a route. False: the rule is left out, and the reason is noted. */
static bool find_target(
	struct collector *c, struct str pool_id, struct str ingress, struct route *route)
{
	const struct pool *pool = c->lookup->pool(c->lookup->ctx, pool_id);
	if (pool == NULL)
		return false;
	struct str service = arena_printf(c->arena, "%.*s/%.*s", STR_FMT(pool->service.namespace),
		STR_FMT(pool->service.name));
	if (pool->external_name.len != 0) {
		notices_add(c->notices, NOTICE_EXTERNAL_NAME, ingress, service);
		return false;
	}
	/* A missing Service is reported by the translator. */
	if (pool->service.uid.len == 0)
		return false;
	route->service_name = pool->service.name;
	route->service_id = c->lookup->service(c->lookup->ctx, pool->service.uid);
	route->target_port = pool->target_port;
	if (route->service_id.len == 0) {
		notices_add(c->notices, NOTICE_SERVICE_UNKNOWN, ingress, service);
		add_unknown(c, pool->service.uid);
		return false;
	}
	if (route->target_port == 0) {
		notices_add(c->notices, NOTICE_TARGET_PORT_UNKNOWN, ingress, service);
		return false;
	}
	note_protocol(c, pool, ingress, service);
	return true;
}

/* ---- routes ---- */

static struct str subject(struct collector *c, const struct virtual_host *host, struct str path)
{
	return arena_printf(c->arena, "%.*s%.*s", STR_FMT(host->host), STR_FMT(path));
}

/* Kubernetes ignores a trailing slash of a prefix, but in Rancher "/foo/" would not match "/foo". */
static struct str path_of(const struct path_rule *rule)
{
	struct str path = rule->path;
	while (rule->match == PATH_PREFIX && path.len > 1 && path.p[path.len - 1] == '/')
		path.len--;
	return path;
}

static void note_widening(
	struct collector *c, const struct virtual_host *host, const struct path_rule *rule)
{
	struct str path = path_of(rule);
	bool takes_all = path.len == 0 || str_eq_c(path, "/");
	if (rule->match == PATH_EXACT || (rule->match == PATH_PREFIX && !takes_all))
		notices_add(c->notices, NOTICE_PATH_WIDENED, rule->ingress,
			subject(c, host, rule->path));
	if (host->match == HOST_WILDCARD)
		notices_add(c->notices, NOTICE_HOST_WIDENED, rule->ingress, host->host);
}

static void add_host(struct collector *c, const struct virtual_host *host)
{
	for (size_t i = 0; i < host->rules.count; i++) {
		const struct path_rule *rule = &host->rules.items[i];
		if (!rule_is_plain(rule))
			continue;
		struct route route = {
			.match = host->match,
			.host = host->match == HOST_ANY ? STR_NONE : host->host,
			.path = path_of(rule),
			.order = c->routes->count,
		};
		if (!stored_text_is_good(route.host) || !stored_text_is_good(route.path)) {
			notices_add(c->notices, NOTICE_TEXT_NOT_STORABLE, rule->ingress,
				arena_printf(c->arena, "path %.*s%.*s", STR_FMT(host->host),
					STR_FMT(rule->path)));
			continue;
		}
		note_widening(c, host, rule);
		if (!find_target(c, rule->pool, rule->ingress, &route))
			continue;
		struct route *place = arena_push(
			c->arena, (void **)&c->routes->items, &c->routes->count, sizeof(*place));
		*place = route;
	}
}

/* Server names are compared exactly, and there is no path before the TLS handshake. */
static void add_passthrough(struct collector *c, const struct virtual_host *host)
{
	struct route route = {
		.match = host->match,
		.host = host->match == HOST_ANY ? STR_NONE : host->host,
		.order = c->routes->count,
	};
	if (host->rules.count == 0)
		return;
	const struct path_rule *rule = &host->rules.items[0];
	if (host->match == HOST_WILDCARD) {
		notices_add(c->notices, NOTICE_PASSTHROUGH_WILDCARD, rule->ingress, host->host);
		return;
	}
	if (!stored_text_is_good(route.host)) {
		notices_add(c->notices, NOTICE_TEXT_NOT_STORABLE, rule->ingress,
			arena_printf(c->arena, "host %.*s", STR_FMT(host->host)));
		return;
	}
	if (!find_target(c, rule->pool, rule->ingress, &route))
		return;
	struct route *place =
		arena_push(c->arena, (void **)&c->routes->items, &c->routes->count, sizeof(*place));
	*place = route;
}

/* After all other rules, even one for any host. */
static void add_default(struct collector *c, struct str pool)
{
	struct route route = {.match = HOST_ANY, .order = SIZE_MAX};
	if (pool.len == 0 || !find_target(c, pool, STR_NONE, &route))
		return;
	struct route *place =
		arena_push(c->arena, (void **)&c->routes->items, &c->routes->count, sizeof(*place));
	*place = route;
}

static int compare_hosts(const struct route *a, const struct route *b)
{
	/* enum host_match ascends from any to exact. */
	if (a->match != b->match)
		return a->match > b->match ? -1 : 1;
	if (a->match == HOST_WILDCARD && a->host.len != b->host.len)
		return a->host.len > b->host.len ? -1 : 1;
	return str_cmp(a->host, b->host);
}

static int compare_precedence(const void *left, const void *right)
{
	const struct route *a = left;
	const struct route *b = right;
	int order = compare_hosts(a, b);
	if (order != 0)
		return order;
	if (a->path.len != b->path.len)
		return a->path.len > b->path.len ? -1 : 1;
	return (a->order > b->order) - (a->order < b->order);
}

static bool is_same_place(const struct route *a, const struct route *b)
{
	return str_eq(a->host, b->host) && ascii_eq_nocase(a->path, b->path);
}

/* Rules for the same host and path would share one backend with the servers of all of them: only the first stays. Such rules
 * have paths of the same length, but others of that length may lie between them. */
static void drop_shadowed(struct collector *c)
{
	struct routes *routes = c->routes;
	size_t count = 0;
	for (size_t i = 0; i < routes->count; i++) {
		const struct route *route = &routes->items[i];
		const struct route *other = NULL;
		for (size_t j = count; j > 0 && other == NULL; j--) {
			const struct route *kept = &routes->items[j - 1];
			if (compare_hosts(kept, route) != 0 || kept->path.len != route->path.len)
				break;
			if (is_same_place(kept, route))
				other = kept;
		}
		if (other == NULL) {
			routes->items[count++] = *route;
		} else if (!str_eq(other->service_id, route->service_id) ||
			   other->target_port != route->target_port) {
			notices_add(c->notices, NOTICE_RULE_SHADOWED, STR_NONE,
				arena_printf(c->arena, "%.*s%.*s", STR_FMT(route->host),
					STR_FMT(route->path)));
		}
	}
	routes->count = count;
}

static void put_in_order(struct collector *c)
{
	if (c->routes->count != 0)
		qsort(c->routes->items, c->routes->count, sizeof(struct route), compare_precedence);
	drop_shadowed(c);
}

void rules_collect(const struct load_balancer *lb, const struct virtual_host *hosts,
	size_t host_count, const struct rules_lookup *lookup, struct arena *arena,
	struct notices *notices, struct routes *ret_routes)
{
	struct collector c = {
		.lookup = lookup, .arena = arena, .notices = notices, .routes = ret_routes};
	*ret_routes = (struct routes){.count = 0};
	for (size_t i = 0; i < host_count; i++) {
		if (!hosts[i].passthrough)
			add_host(&c, &hosts[i]);
	}
	add_default(&c, lb->default_pool);
	put_in_order(&c);
}

void rules_collect_passthrough(const struct virtual_host *hosts, size_t host_count,
	const struct rules_lookup *lookup, struct arena *arena, struct notices *notices,
	struct routes *ret_routes)
{
	struct collector c = {
		.lookup = lookup, .arena = arena, .notices = notices, .routes = ret_routes};
	*ret_routes = (struct routes){.count = 0};
	for (size_t i = 0; i < host_count; i++) {
		if (hosts[i].passthrough)
			add_passthrough(&c, &hosts[i]);
	}
	put_in_order(&c);
}

void rules_collect_pool(struct str pool, const struct rules_lookup *lookup, struct arena *arena,
	struct notices *notices, struct routes *ret_routes)
{
	struct collector c = {
		.lookup = lookup, .arena = arena, .notices = notices, .routes = ret_routes};
	*ret_routes = (struct routes){.count = 0};
	add_default(&c, pool);
}

void rules_add_port(const struct routes *routes, uint64_t port, const char *protocol,
	struct arena *arena, struct lb_spec *spec)
{
	for (size_t i = 0; i < routes->count; i++) {
		const struct route *route = &routes->items[i];
		struct port_rule *rule = arena_push(
			arena, (void **)&spec->rules.items, &spec->rules.count, sizeof(*rule));
		*rule = (struct port_rule){
			.source_port = port,
			.protocol = str_from(protocol),
			.host = route->host,
			.path = route->path,
			.service_id = route->service_id,
			.service_name = route->service_name,
			.target_port = route->target_port,
			.priority = i + 1,
		};
	}
}

/* ---- names of backends ---- */

struct str rules_default_backend(
	uint64_t port, struct str host, struct str path, struct arena *arena)
{
	struct str raw =
		arena_printf(arena, "%u_%.*s_%.*s", (unsigned)port, STR_FMT(host), STR_FMT(path));
	char *text = arena_alloc(arena, raw.len + 1);
	size_t len = 0;
	for (size_t i = 0; i < raw.len; i++) {
		if (ascii_is_alnum(raw.p[i]))
			text[len++] = raw.p[i];
		else if (len == 0 || text[len - 1] != '_')
			text[len++] = '_';
	}
	return (struct str){text, len};
}

struct named_rule {
	struct str name;
	struct port_rule *rule;
	size_t index;
};

static int compare_names(const void *left, const void *right)
{
	const struct named_rule *a = left;
	const struct named_rule *b = right;
	int order = str_cmp(a->name, b->name);
	return order != 0 ? order : (a->index > b->index) - (a->index < b->index);
}

void rules_name_backends(struct lb_spec *spec, struct arena *arena)
{
	size_t count = spec->rules.count;
	struct named_rule *named = arena_calloc(arena, count + 1, sizeof(*named));
	for (size_t i = 0; i < count; i++) {
		struct port_rule *rule = &spec->rules.items[i];
		struct str name =
			rules_default_backend(rule->source_port, rule->host, rule->path, arena);
		named[i] = (struct named_rule){name, rule, i};
	}
	qsort(named, count, sizeof(*named), compare_names);
	for (size_t i = 1; i < count; i++) {
		char hash[DIGEST_TEXT_LEN + 1];
		struct digest digest;
		if (!str_eq(named[i - 1].name, named[i].name))
			continue;
		digest_begin(&digest);
		digest_add_str(&digest, named[i].rule->host);
		digest_add_str(&digest, named[i].rule->path);
		digest_text(digest_end(&digest), hash);
		named[i].rule->backend =
			arena_printf(arena, "%.*s_%.8s", STR_FMT(named[i].name), hash);
	}
}

// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/group_settings.h"

#include <stdlib.h>

enum {
	/* Each target has its own; this one cannot be changed in place, so it is the same for all. */
	GROUP_PORT = 80,
	COOKIE_DURATION_S = 86400, /* AWS's default */
	/* AWS, CreateTargetGroup */
	CHECK_INTERVAL_MIN_S = 5,
	CHECK_INTERVAL_MAX_S = 300,
	CHECK_TIMEOUT_MIN_S = 2,
	CHECK_TIMEOUT_MAX_S = 120,
	CHECK_THRESHOLD_MIN = 2,
	CHECK_THRESHOLD_MAX = 10,
	CHECK_PATH_LEN_MAX = 1024,
};

struct maker {
	struct wanted_builder *b;
	const struct pool *pool;
	struct elb_group *group;
	bool is_network;
};

static struct str service_of(const struct maker *m)
{
	return arena_printf(m->b->arena, "%.*s/%.*s", STR_FMT(m->pool->service.namespace),
		STR_FMT(m->pool->service.name));
}

/* ---- protocol ---- */

bool group_settings_is_http2(const struct pool *pool)
{
	return pool->protocol == POOL_H2C ||
	       (pool->protocol == POOL_HTTPS && pool->tls != NULL && pool->tls->http2);
}

static void set_protocol(struct maker *m)
{
	const struct pool *pool = m->pool;
	struct elb_group *group = m->group;
	group->protocol = STR("TCP");
	if (m->is_network)
		return;
	bool is_https = pool->protocol == POOL_HTTPS;
	group->protocol = is_https ? STR("HTTPS") : STR("HTTP");
	group->version = group_settings_is_http2(pool) ? STR("HTTP2") : STR("HTTP1");
}

/* Another family is another group, so a Service with both, whose endpoints of one family are known a moment before those of the other, must not go
 * back and forth. Only a load balancer of type dualstack has groups for IPv6. */
static bool is_ipv6(const struct maker *m)
{
	size_t counts[2] = {0, 0};
	for (size_t i = 0; i < m->pool->endpoints.count; i++)
		counts[str_find(m->pool->endpoints.items[i].ip, ':') != NULL]++;
	return counts[1] > 2 * counts[0] &&
	       str_starts_with(m->b->settings->ip_address_type, STR("dualstack"));
}

/* ---- health check ---- */

static const struct health_check *find_check(const struct maker *m)
{
	const struct load_balancer *lb = m->b->lb;
	if (!str_eq(m->pool->service.namespace, lb->namespace))
		return NULL;
	for (size_t i = 0; i < lb->health_checks.count; i++) {
		if (str_eq(lb->health_checks.items[i].service, m->pool->service.name))
			return &lb->health_checks.items[i];
	}
	return NULL;
}

static bool is_check_path(struct str path)
{
	if (path.len == 0 || path.len > CHECK_PATH_LEN_MAX || path.p[0] != '/')
		return false;
	for (size_t i = 0; i < path.len; i++) {
		if (path.p[i] <= ' ' || path.p[i] > '~')
			return false;
	}
	return true;
}

/* `wanted` 0: `fallback`. *exact becomes false when it is out of the limits. */
static uint64_t limit(uint64_t wanted, uint64_t fallback, uint64_t min, uint64_t max, bool *exact)
{
	if (wanted == 0)
		return fallback;
	if (wanted >= min && wanted <= max)
		return wanted;
	*exact = false;
	return wanted < min ? min : max;
}

/* Whole seconds, rounded up. */
static uint64_t seconds(
	uint64_t wanted_ms, uint64_t fallback_s, uint64_t min, uint64_t max, bool *exact)
{
	*exact = *exact && wanted_ms % 1000 == 0;
	return limit((wanted_ms + 999) / 1000, fallback_s, min, max, exact);
}

static void set_http(struct maker *m, struct str path)
{
	struct elb_health_check *check = &m->group->health_check;
	check->protocol = m->is_network ? STR("HTTP") : m->group->protocol;
	check->path = path;
	check->matcher = m->b->settings->health_check_codes;
}

static void set_own_check(struct maker *m, const struct health_check *own)
{
	struct elb_health_check *check = &m->group->health_check;
	bool exact = true;
	if (own->type == HEALTH_CHECK_HTTP && is_check_path(own->path))
		set_http(m, own->path);
	else if (own->type == HEALTH_CHECK_HTTP || !m->is_network)
		exact = false;
	if (own->port != 0)
		check->port = arena_printf(m->b->arena, "%llu", (unsigned long long)own->port);
	check->interval_s = seconds(own->interval_ms, check->interval_s, CHECK_INTERVAL_MIN_S,
		CHECK_INTERVAL_MAX_S, &exact);
	check->timeout_s = seconds(own->timeout_ms, check->timeout_s, CHECK_TIMEOUT_MIN_S,
		CHECK_TIMEOUT_MAX_S, &exact);
	if (check->timeout_s >= check->interval_s) {
		exact = exact && own->timeout_ms == 0;
		check->timeout_s = check->interval_s - 1;
	}
	check->healthy =
		limit(own->rise, check->healthy, CHECK_THRESHOLD_MIN, CHECK_THRESHOLD_MAX, &exact);
	check->unhealthy = limit(
		own->fall, check->unhealthy, CHECK_THRESHOLD_MIN, CHECK_THRESHOLD_MAX, &exact);
	if (!exact)
		notices_add_service(&m->b->notices, NOTICE_HEALTH_CHECK, service_of(m));
}

static void set_check(struct maker *m)
{
	const struct settings *settings = m->b->settings;
	const struct health_check *own = find_check(m);
	m->group->health_check = (struct elb_health_check){
		.protocol = STR("TCP"),
		.port = STR("traffic-port"),
		.interval_s = settings->health_check_interval_s,
		.timeout_s = settings->health_check_timeout_s,
		.healthy = settings->healthy_threshold,
		.unhealthy = settings->unhealthy_threshold,
	};
	if (!m->is_network)
		set_http(m, settings->health_check_path);
	if (own != NULL)
		set_own_check(m, own);
}

/* ---- attributes ---- */

static void add_attribute(struct maker *m, const char *key, struct str value)
{
	struct elb_attribute *place = arena_push(m->b->arena, (void **)&m->group->attributes.items,
		&m->group->attributes.count, sizeof(*place));
	*place = (struct elb_attribute){str_from(key), value};
}

static void add_number(struct maker *m, const char *key, uint64_t number)
{
	add_attribute(m, key, arena_printf(m->b->arena, "%llu", (unsigned long long)number));
}

static void tell_stickiness(struct maker *m, bool is_left_out, struct str what)
{
	if (is_left_out)
		notices_add(&m->b->notices, NOTICE_STICKINESS, STR_NONE, what);
}

/* The application's own cookie, if AWS takes its name. */
static bool is_app_cookie(const struct stickiness *wish)
{
	return wish->mode != STICKINESS_INSERT && wish->cookie.len != 0 &&
	       !str_starts_with(wish->cookie, STR("AWSALB"));
}

static void add_cookie(struct maker *m, const struct stickiness *wish)
{
	bool is_app = is_app_cookie(wish);
	tell_stickiness(m, wish->cookie.len != 0 && !is_app, STR("the name of the cookie"));
	tell_stickiness(m, wish->mode != STICKINESS_INSERT && !is_app,
		STR("a cookie of the application, without a name that AWS takes"));
	tell_stickiness(m, wish->domain.len != 0, STR("the domain"));
	tell_stickiness(m, wish->indirect, STR("indirect"));
	tell_stickiness(m, wish->nocache, STR("nocache"));
	tell_stickiness(m, wish->postonly, STR("postonly"));
	add_attribute(m, "stickiness.enabled", STR("true"));
	add_attribute(m, "stickiness.type", is_app ? STR("app_cookie") : STR("lb_cookie"));
	if (is_app)
		add_attribute(m, "stickiness.app_cookie.cookie_name", wish->cookie);
	add_number(m,
		is_app ? "stickiness.app_cookie.duration_seconds"
		       : "stickiness.lb_cookie.duration_seconds",
		COOKIE_DURATION_S);
}

static void add_application(struct maker *m)
{
	const struct stickiness *wish = m->b->lb->stickiness;
	bool is_least = m->pool->algorithm == ALGORITHM_LEAST_CONNECTIONS;
	if (m->pool->algorithm == ALGORITHM_SOURCE)
		notices_add_service(&m->b->notices, NOTICE_ALGORITHM, service_of(m));
	add_attribute(m, "load_balancing.algorithm.type",
		is_least ? STR("least_outstanding_requests") : STR("round_robin"));
	if (wish != NULL)
		add_cookie(m, wish);
	else
		add_attribute(m, "stickiness.enabled", STR("false"));
}

static void add_network(struct maker *m)
{
	bool is_source = m->pool->algorithm == ALGORITHM_SOURCE;
	if (m->pool->algorithm == ALGORITHM_LEAST_CONNECTIONS)
		notices_add_service(&m->b->notices, NOTICE_ALGORITHM, service_of(m));
	tell_stickiness(m, m->b->lb->stickiness != NULL, STR("cookies over TCP"));
	/* Otherwise a zone without a target of its own would serve nobody. */
	add_attribute(m, "load_balancing.cross_zone.enabled", STR("true"));
	add_attribute(m, "stickiness.enabled", is_source ? STR("true") : STR("false"));
	if (is_source)
		add_attribute(m, "stickiness.type", STR("source_ip"));
}

static int compare_keys(const void *left, const void *right)
{
	return str_cmp(((const struct elb_attribute *)left)->key,
		((const struct elb_attribute *)right)->key);
}

static void set_attributes(struct maker *m)
{
	add_number(
		m, "deregistration_delay.timeout_seconds", m->b->settings->deregistration_delay_s);
	if (m->is_network)
		add_network(m);
	else
		add_application(m);
	qsort(m->group->attributes.items, m->group->attributes.count, sizeof(struct elb_attribute),
		compare_keys);
}

void group_settings_make(
	struct wanted_builder *b, const struct pool *pool, struct elb_group *ret_group)
{
	struct maker m = {
		.b = b,
		.pool = pool,
		.group = ret_group,
		.is_network = b->balancer->type == ELB_NETWORK,
	};
	*ret_group = (struct elb_group){
		.identity = naming_group_identity(b->arena, b->lb->key.id, pool->key.id),
		.lb = naming_tag_value(b->arena, b->lb->key.id),
		.pool = pool->key.id,
		.port = GROUP_PORT,
		.is_ipv6 = is_ipv6(&m),
	};
	set_protocol(&m);
	set_check(&m);
	set_attributes(&m);
	ret_group->name = naming_group(b->arena, b->settings->cluster, b->lb, b->balancer->type,
		b->settings->scheme, pool->key.id, ret_group);
	ret_group->applied = wanted_group_digest(ret_group, b->arena);
}

// SPDX-License-Identifier: Apache-2.0
/* The comparisons of plan.h: they find out what a changed Ingress affects, so that nothing else is rebuilt. */
#include "translator/plan.h"

void plan_port_set(const struct plan_port *port, struct listener *listener)
{
	listener->pool = port->pool;
	listener->reads_proxy = port->reads_proxy;
	listener->idle_s = port->idle_s;
	listener->responses = port->responses;
	listener->one_way = port->one_way;
}

int plan_compare_ages(const struct plan *a, const struct plan *b)
{
	if (a->created != b->created)
		return a->created < b->created ? -1 : 1;
	int order = str_cmp(a->self.namespace, b->self.namespace);
	return order != 0 ? order : str_cmp(a->self.name, b->self.name);
}

bool plan_shapes_balancer(const struct plan *plan)
{
	/* Owners of a shared load balancer are not listed in it; their parts of it are claims. */
	return plan->is_ours && plan->scope != BALANCER_OF_CLASS;
}

static bool same_secrets(const struct plan *a, const struct plan *b)
{
	if (a->tls.count != b->tls.count)
		return false;
	for (size_t i = 0; i < a->tls.count; i++) {
		if (!str_eq(a->tls.items[i].secret, b->tls.items[i].secret))
			return false;
	}
	return true;
}

static bool same_ports(const struct plan *a, const struct plan *b)
{
	if (a->ports.count != b->ports.count || !str_list_eq(&a->source_ranges, &b->source_ranges))
		return false;
	for (size_t i = 0; i < a->ports.count; i++) {
		const struct plan_port *x = &a->ports.items[i];
		const struct plan_port *y = &b->ports.items[i];
		if (x->port != y->port || x->protocol != y->protocol ||
			x->reads_proxy != y->reads_proxy || x->idle_s != y->idle_s ||
			x->responses != y->responses || x->one_way != y->one_way ||
			!str_eq(x->pool, y->pool))
			return false;
	}
	return true;
}

bool plan_same_balancer(const struct plan *a, const struct plan *b)
{
	return str_eq(a->self.uid, b->self.uid) && a->created == b->created &&
	       str_eq(a->class_name, b->class_name) && str_eq(a->balancer, b->balancer) &&
	       str_eq(a->default_pool, b->default_pool) && same_secrets(a, b) &&
	       a->is_passthrough == b->is_passthrough && a->is_leaving == b->is_leaving &&
	       a->is_kept == b->is_kept && a->is_refused == b->is_refused &&
	       (a->hosts.count != 0) == (b->hosts.count != 0) && same_ports(a, b) &&
	       annotations_same_balancer(&a->values, &b->values);
}

static bool same_tls(const struct plan *a, const struct plan *b)
{
	if (a->tls.count != b->tls.count)
		return false;
	for (size_t i = 0; i < a->tls.count; i++) {
		const struct plan_tls *x = &a->tls.items[i];
		const struct plan_tls *y = &b->tls.items[i];
		if (!str_eq(x->secret, y->secret) || x->is_open != y->is_open ||
			!str_list_eq(&x->hosts, &y->hosts))
			return false;
	}
	return str_list_eq(&a->names, &b->names);
}

bool plan_same_claims(const struct plan *a, const struct plan *b)
{
	return str_eq(a->self.uid, b->self.uid) && a->created == b->created &&
	       str_eq(a->balancer, b->balancer) && str_eq(a->default_pool, b->default_pool) &&
	       same_ports(a, b) && same_tls(a, b);
}

/* What is more than a policy is compared when it is built. */
static bool is_simple(const struct claim_route *route)
{
	return route->redirect == NULL && route->app_root == NULL && route->answer == NULL &&
	       route->canary == NULL && route->client == NULL && route->handshake == NULL;
}

static bool same_route(const struct claim_route *a, const struct claim_route *b)
{
	if (a == NULL || b == NULL)
		return a == b;
	return is_simple(a) && is_simple(b) && str_eq(a->policy, b->policy) &&
	       a->is_regex == b->is_regex && a->is_decoded == b->is_decoded &&
	       a->is_closed == b->is_closed && a->is_unlogged == b->is_unlogged &&
	       a->has_cookie_path == b->has_cookie_path && a->has_tls == b->has_tls &&
	       a->tls_redirect.status == b->tls_redirect.status &&
	       a->tls_redirect.port == b->tls_redirect.port &&
	       a->tls_redirect.without_slash == b->tls_redirect.without_slash;
}

static bool same_claim(const struct path_claim *a, const struct path_claim *b)
{
	return str_eq(a->path, b->path) && a->type == b->type && str_eq(a->pool, b->pool) &&
	       a->is_implied == b->is_implied && a->extra == b->extra &&
	       a->is_other_name == b->is_other_name && a->is_greater_first == b->is_greater_first &&
	       a->tls_only == b->tls_only && a->position == b->position && a->rule == b->rule &&
	       same_route(a->route, b->route);
}

bool plan_same_host(const struct plan *a, const struct plan_host *a_host, const struct plan *b,
	const struct plan_host *b_host)
{
	/* The uid counts because a new Ingress must get the same Events as the old one did. */
	if (!str_eq(a->self.uid, b->self.uid) || a->created != b->created ||
		a_host->claims.count != b_host->claims.count)
		return false;
	for (size_t i = 0; i < a_host->claims.count; i++) {
		if (!same_claim(&a_host->claims.items[i], &b_host->claims.items[i]))
			return false;
	}
	return true;
}

// SPDX-License-Identifier: Apache-2.0
/*
 * What an Ingress gets beside the paths that it has written: what is done with the root of its hosts, with paths that lack the slash at their end, and with
 * other names of its hosts. None of it has a policy: these are redirects, or copies of the rules.
 */
#include "translator/plan_maker.h"

enum { EXTRAS_MAX = RULES_MAX /* of an Ingress: names times paths may be many */ };

struct extras {
	const struct plan_maker *m;
	struct hosted_list *list;
	size_t limit;
};

static struct piece *add_piece(const struct plan_maker *m, struct redirect *redirect)
{
	void *items = redirect->location.items;
	struct piece *piece =
		arena_push(m->arena, &items, &redirect->location.count, sizeof(*piece));
	redirect->location.items = items;
	return piece;
}

static void push(const struct extras *e, const struct hosted *hosted)
{
	if (e->list->count < e->limit)
		*PLAN_PUSH(e->m, e->list) = *hosted;
}

static const struct claim_route *route_to(
	const struct plan_maker *m, const struct redirect *redirect)
{
	struct claim_route *route = arena_alloc(m->arena, sizeof(*route));
	*route =
		(struct claim_route){.redirect = redirect, .is_decoded = m->plan->route.is_decoded};
	return route;
}

/* ---- paths ---- */

static void add_slash(const struct extras *e, struct hosted hosted)
{
	const struct plan_maker *m = e->m;
	struct str path = hosted.claim.path;
	if (path.len < 2 || path.p[path.len - 1] != '/')
		return;
	struct redirect *redirect = arena_alloc(m->arena, sizeof(*redirect));
	redirect->status = 301;
	for (size_t i = 0; i < m->plan->route.slash_origin.count; i++)
		*add_piece(m, redirect) = m->plan->route.slash_origin.items[i];
	*add_piece(m, redirect) = (struct piece){.text = path};
	*add_piece(m, redirect) = (struct piece){.value = REQUEST_ARGUMENTS};
	hosted.claim.path.len--;
	hosted.claim.type = PATH_EXACT;
	hosted.claim.pool = STR("");
	hosted.claim.route = route_to(m, redirect);
	hosted.claim.extra = CLAIM_SLASH;
	hosted.claim.is_implied = true;
	push(e, &hosted);
}

/* ---- hosts ---- */

static struct str other_name(const struct plan_maker *m, struct str host)
{
	struct str www = STR("www.");
	if (str_starts_with(host, www))
		return str_skip(host, www.len);
	return arena_printf(m->arena, "www.%.*s", STR_FMT(host));
}

/* As the original: with the port, whichever it is. */
static void add_www(const struct extras *e, struct hosted hosted)
{
	const struct plan_maker *m = e->m;
	if (hosted.match != HOST_EXACT)
		return;
	struct redirect *redirect = arena_alloc(m->arena, sizeof(*redirect));
	redirect->status = e->m->plan->route.www_status;
	*add_piece(m, redirect) = (struct piece){.value = REQUEST_SCHEME};
	*add_piece(m, redirect) = (struct piece){.text = STR("://")};
	*add_piece(m, redirect) = (struct piece){.text = hosted.host};
	*add_piece(m, redirect) = (struct piece){.text = STR(":")};
	*add_piece(m, redirect) = (struct piece){.value = REQUEST_PORT};
	*add_piece(m, redirect) = (struct piece){.value = REQUEST_TARGET_UNSLASHED};
	hosted.host = other_name(m, hosted.host);
	hosted.has_claim = true;
	hosted.claim.path = STR("/");
	hosted.claim.type = PATH_PREFIX;
	hosted.claim.pool = STR("");
	hosted.claim.route = route_to(m, redirect);
	hosted.claim.is_other_name = true;
	push(e, &hosted);
}

static void add_aliases(const struct extras *e, struct hosted hosted)
{
	const struct route_settings *route = &e->m->plan->route;
	for (size_t i = 0; i < route->aliases.count; i++) {
		if (str_eq(hosted.host, route->aliases.items[i]))
			continue;
		struct hosted copy = hosted;
		copy.host = route->aliases.items[i];
		copy.match = str_starts_with(copy.host, STR("*.")) ? HOST_WILDCARD : HOST_EXACT;
		copy.claim.is_other_name = true;
		push(e, &copy);
	}
}

void plan_add_extras(const struct plan_maker *m, struct hosted_list *list)
{
	const struct route_settings *route = &m->plan->route;
	/* Most have none. */
	if (!route->has_slash_redirects && !route->has_www_redirect && route->aliases.count == 0)
		return;
	const struct extras e = {m, list, list->count + EXTRAS_MAX};
	size_t written = list->count;
	for (size_t i = 0; i < written; i++) {
		struct hosted hosted = list->items[i];
		bool is_first = i == 0 || list->items[i - 1].claim.rule != hosted.claim.rule;
		if (route->has_slash_redirects && hosted.has_claim && !hosted.claim.is_implied)
			add_slash(&e, hosted);
		if (is_first && route->has_www_redirect)
			add_www(&e, hosted);
	}
	size_t count = route->aliases.count != 0 ? list->count : 0;
	for (size_t i = 0; i < count; i++) {
		if (str_eq(list->items[i].host, list->items[0].host))
			add_aliases(&e, list->items[i]);
	}
}

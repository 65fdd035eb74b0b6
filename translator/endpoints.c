// SPDX-License-Identifier: Apache-2.0
#include "translator/endpoints.h"

#include "common/ip.h"

#include <stdlib.h>

/* One address and port, and its origin. */
struct candidate {
	struct pool_endpoint endpoint;
	struct str target_uid;
	uint64_t created; /* of the slice */
	struct str slice;
};

struct gathering {
	struct arena *arena;
	const struct service_port *port;
	const struct egress *egress;
	struct candidate *items;
	size_t count;
	struct str app_protocol;
	struct str refused_ip; /* the smallest, so that order does not matter; empty: none */
	bool refused_others;
};

/* In canonical form, so that each address has one spelling; absent if it is not an address (slices may hold
 * names). */
static struct str canonical_ip(struct arena *arena, struct str ip)
{
	char text[INET6_ADDRSTRLEN];
	if (!ip_canonical(ip, text))
		return STR_NONE;
	return str_eq_c(ip, text) ? ip : arena_str(arena, str_from(text));
}

static void refuse(struct gathering *g, struct str ip)
{
	bool is_first = str_is_empty(g->refused_ip);
	g->refused_others |= !is_first && !str_eq(ip, g->refused_ip);
	if (is_first || str_cmp(ip, g->refused_ip) < 0)
		g->refused_ip = ip;
}

static void gather_one(struct gathering *g, const struct endpoints_record *slice,
	const struct endpoint_address *address, uint64_t number)
{
	if (!address->ready && !address->serving)
		return;
	struct str ip = canonical_ip(g->arena, address->ip);
	if (ip.p == NULL)
		return;
	if (egress_refusal(g->egress, ip) != NULL) {
		refuse(g, ip);
		return;
	}
	void *items = g->items;
	struct candidate *c = arena_push(g->arena, &items, &g->count, sizeof(*c));
	g->items = items;
	*c = (struct candidate){
		.endpoint = {.ip = ip,
			.port = number,
			.ready = address->ready,
			.serving = address->serving,
			.terminating = address->terminating,
			.node = address->node,
			.zone = address->zone},
		.target_uid = address->target_uid,
		.created = slice->created,
		.slice = slice->key.name,
	};
}

static void gather_subset(struct gathering *g, const struct endpoints_record *slice,
	const struct endpoint_subset *subset)
{
	for (size_t i = 0; i < subset->ports.count; i++) {
		const struct endpoint_port *port = &subset->ports.items[i];
		if (!str_eq(port->name, g->port->name) || port->protocol != g->port->protocol)
			continue;
		/* A hand-made slice may omit the number, meaning any port: then only the Service's own is
		 * known. */
		uint64_t number = port->port != 0 ? port->port : g->port->target_number;
		if (number == 0)
			continue;
		/* The smallest, if slices disagree: any fixed choice will do. */
		if (!str_is_empty(port->app_protocol) &&
			(str_is_empty(g->app_protocol) ||
				str_cmp(port->app_protocol, g->app_protocol) < 0))
			g->app_protocol = port->app_protocol;
		for (size_t k = 0; k < subset->addresses.count; k++)
			gather_one(g, slice, &subset->addresses.items[k], number);
	}
}

static int compare_places(const struct candidate *a, const struct candidate *b)
{
	int order = str_cmp(a->endpoint.ip, b->endpoint.ip);
	if (order != 0)
		return order;
	return (a->endpoint.port > b->endpoint.port) - (a->endpoint.port < b->endpoint.port);
}

static int rank_of(const struct candidate *c)
{
	return c->endpoint.ready ? 2 : c->endpoint.serving ? 1 : 0;
}

static int compare_newness(const struct candidate *a, const struct candidate *b)
{
	if (a->created != b->created)
		return a->created > b->created ? -1 : 1;
	return 0;
}

/* Negative if a is preferred. For the same pod the newer slice counts; of two pods that share an address
 * the healthier one. */
static int compare_copies(const struct candidate *a, const struct candidate *b)
{
	bool same_pod = str_eq(a->target_uid, b->target_uid) && !str_is_empty(a->target_uid);
	int newness = compare_newness(a, b);
	int rank = rank_of(b) - rank_of(a);
	int order = same_pod ? newness : rank;
	if (order == 0)
		order = same_pod ? rank : newness;
	if (order == 0)
		order = str_cmp(a->slice, b->slice);
	return order;
}

/* A total order for qsort(): copies of one place are adjacent, and among them those of each pod. */
static int compare_candidates(const void *left, const void *right)
{
	const struct candidate *a = left;
	const struct candidate *b = right;
	int order = compare_places(a, b);
	if (order == 0)
		order = str_cmp(a->target_uid, b->target_uid);
	if (order == 0)
		order = compare_copies(a, b);
	if (order == 0)
		order = (int)a->endpoint.terminating - (int)b->endpoint.terminating;
	if (order == 0)
		order = str_cmp(a->endpoint.node, b->endpoint.node);
	return order != 0 ? order : str_cmp(a->endpoint.zone, b->endpoint.zone);
}

/* Only the first copy of each pod counts. */
static bool repeats_pod(const struct candidate *items, size_t i)
{
	return i > 0 && compare_places(&items[i - 1], &items[i]) == 0 &&
	       str_eq(items[i - 1].target_uid, items[i].target_uid);
}

static size_t drop_copies(struct candidate *items, size_t count)
{
	size_t kept = 0;
	bool repeats = false;
	if (count > 1)
		qsort(items, count, sizeof(*items), compare_candidates);
	for (size_t i = 0; i < count; i++) {
		/* Checked before anything is moved to where the next check looks. */
		bool next_repeats = i + 1 < count && repeats_pod(items, i + 1);
		struct candidate *last = kept != 0 ? &items[kept - 1] : NULL;
		if (last == NULL || compare_places(last, &items[i]) != 0)
			items[kept++] = items[i];
		else if (!repeats && compare_copies(&items[i], last) < 0)
			*last = items[i];
		repeats = next_repeats;
	}
	return kept;
}

static bool choose_active(struct candidate *items, size_t count)
{
	bool any_ready = false;
	for (size_t i = 0; i < count; i++)
		any_ready |= items[i].endpoint.ready;
	bool any = any_ready;
	for (size_t i = 0; i < count; i++) {
		struct pool_endpoint *e = &items[i].endpoint;
		e->active = any_ready ? e->ready : e->serving && e->terminating;
		any |= e->active;
	}
	return any;
}

static int compare_ports(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left;
	uint64_t b = *(const uint64_t *)right;
	return (a > b) - (a < b);
}

/* The target port of most active endpoints, the smallest on a tie; all endpoints count if none is active. */
static void summarise_ports(const struct candidate *items, size_t count, bool any_active,
	struct arena *arena, struct endpoints_summary *ret)
{
	uint64_t *numbers = arena_calloc(arena, count, sizeof(*numbers));
	size_t used = 0;
	size_t best = 0;
	for (size_t i = 0; i < count; i++) {
		if (items[i].endpoint.active || !any_active)
			numbers[used++] = items[i].endpoint.port;
	}
	if (used > 1)
		qsort(numbers, used, sizeof(*numbers), compare_ports);
	for (size_t begin = 0, end = 0; begin < used; begin = end) {
		while (end < used && numbers[end] == numbers[begin])
			end++;
		if (end - begin > best) {
			best = end - begin;
			ret->target_port = numbers[begin];
		}
	}
	ret->mixed_target_ports = used != 0 && numbers[0] != numbers[used - 1];
}

static size_t count_that_fit(const struct candidate *items, size_t count)
{
	size_t bytes = 0;
	size_t kept = 0;
	while (kept < count && kept < ENDPOINTS_MAX) {
		const struct pool_endpoint *e = &items[kept].endpoint;
		bytes += 96 + e->ip.len + e->node.len + e->zone.len;
		if (bytes > ENDPOINTS_BYTES_MAX)
			break;
		kept++;
	}
	return kept;
}

void endpoints_select(const struct service_port *port, const struct endpoints_record *const *slices,
	size_t count, const struct egress *egress, struct arena *arena, struct pool *ret_pool,
	struct endpoints_summary *ret_summary)
{
	struct gathering g = {.arena = arena, .port = port, .egress = egress};
	for (size_t i = 0; i < count; i++) {
		for (size_t k = 0; k < slices[i]->subsets.count; k++)
			gather_subset(&g, slices[i], &slices[i]->subsets.items[k]);
	}
	g.count = drop_copies(g.items, g.count);
	bool any_active = choose_active(g.items, g.count);
	*ret_summary = (struct endpoints_summary){
		.app_protocol = g.app_protocol,
		.refused_ip = g.refused_ip,
		.refused_others = g.refused_others,
	};
	summarise_ports(g.items, g.count, any_active, arena, ret_summary);
	if (ret_summary->target_port == 0)
		ret_summary->target_port = port->target_number;
	size_t kept = count_that_fit(g.items, g.count);
	ret_summary->left_out = g.count - kept;
	ret_pool->endpoints.items = arena_calloc(arena, kept, sizeof(struct pool_endpoint));
	ret_pool->endpoints.count = kept;
	for (size_t i = 0; i < kept; i++)
		ret_pool->endpoints.items[i] = g.items[i].endpoint;
}

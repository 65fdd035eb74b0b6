// SPDX-License-Identifier: Apache-2.0
#include "provider-proxy/own_listeners.h"

#include "common/xalloc.h"
#include "provider-proxy/sockets.h"

#include <stdlib.h>

enum { PORT_COUNT = 65536 };
static const char topic[] = "own-listener";

struct own_listeners {
	const struct publish *publish;
	struct notices *notices;
	struct socket_list places; /* by port first; without duplicates */
	struct check_ip *ips;      /* of this machine; sorted by text */
	size_t ip_count;
	uint8_t ports[PORT_COUNT / 8]; /* ports that are, or were, among the places */
};

/* ---- where we listen ---- */

static void add_place(struct socket_list *places, struct arena *arena, const struct check_ip *ip,
	uint64_t port, bool is_udp)
{
	struct socket_address *place =
		arena_push(arena, (void **)&places->items, &places->count, sizeof(*place));
	*place = (struct socket_address){.ip = *ip, .port = (uint16_t)port, .is_udp = is_udp};
}

static void add_listener(const struct own_listeners *own, const struct listener *listener,
	struct arena *arena, struct socket_list *places)
{
	const struct check_ip *binds;
	struct check_ip ip;
	bool is_udp = listener->protocol == LISTENER_UDP;
	if (!check_port(listener->port))
		return;
	if (check_ip(listener->address, &ip)) {
		add_place(places, arena, &ip, listener->port, is_udp);
	} else if (str_is_empty(listener->address)) {
		size_t count = publish_binds(own->publish, &binds);
		for (size_t i = 0; i < count; i++)
			add_place(places, arena, &binds[i], listener->port, is_udp);
	}
}

static void collect(const struct own_listeners *own, struct state *state, struct arena *arena,
	struct socket_list *places)
{
	struct object *object = state_first(state, LB_LOAD_BALANCER);
	bool keeps_any = false;
	for (; object != NULL; object = state_next(state, object)) {
		struct load_balancer value;
		state_decode(state, object, arena, &value);
		keeps_any |= value.keep;
		for (size_t i = 0; i < value.listeners.count; i++)
			add_listener(own, &value.listeners.items[i], arena, places);
	}
	/* A load balancer that is kept as it is still listens where it did. */
	for (size_t i = 0; i < own->places.count && keeps_any; i++)
		add_place(places, arena, &own->places.items[i].ip, own->places.items[i].port,
			own->places.items[i].is_udp);
}

static void sort_places(struct socket_list *places)
{
	size_t kept = 0;
	if (places->count > 1)
		qsort(places->items, places->count, sizeof(*places->items), socket_compare);
	for (size_t i = 0; i < places->count; i++) {
		if (kept == 0 || socket_compare(&places->items[kept - 1], &places->items[i]) != 0)
			places->items[kept++] = places->items[i];
	}
	places->count = kept;
}

static bool are_same(const struct socket_list *a, const struct socket_list *b)
{
	bool is_same = a->count == b->count;
	for (size_t i = 0; i < a->count && is_same; i++)
		is_same = socket_compare(&a->items[i], &b->items[i]) == 0;
	return is_same;
}

bool own_listeners_set_wanted(struct own_listeners *own, struct state *state)
{
	struct socket_list wanted = {0};
	struct arena arena;
	arena_init(&arena);
	collect(own, state, &arena, &wanted);
	sort_places(&wanted);
	bool is_same = are_same(&wanted, &own->places);
	if (!is_same) {
		own->places.items =
			xreallocarray(own->places.items, wanted.count + 1, sizeof(*wanted.items));
		own->places.count = wanted.count;
		for (size_t i = 0; i < wanted.count; i++) {
			own->places.items[i] = wanted.items[i];
			own->ports[wanted.items[i].port / 8] |=
				(uint8_t)(1u << wanted.items[i].port % 8);
		}
	}
	arena_fini(&arena);
	return !is_same;
}

/* ---- our own addresses ---- */

static int compare_ips(const void *left, const void *right)
{
	return strcmp(
		((const struct check_ip *)left)->text, ((const struct check_ip *)right)->text);
}

bool own_listeners_set_addresses(
	struct own_listeners *own, const struct check_ip *ips, size_t count)
{
	struct check_ip *sorted = xcalloc(count + 1, sizeof(*sorted));
	for (size_t i = 0; i < count; i++)
		sorted[i] = ips[i];
	if (count > 1)
		qsort(sorted, count, sizeof(*sorted), compare_ips);
	bool is_same = count == own->ip_count;
	for (size_t i = 0; i < count && is_same; i++)
		is_same = compare_ips(&sorted[i], &own->ips[i]) == 0;
	free(own->ips);
	own->ips = sorted;
	own->ip_count = count;
	return !is_same;
}

static bool is_of_machine(const struct own_listeners *own, const struct check_ip *ip)
{
	if (ip->family == AF_INET ? ip->bytes[0] == 127 : strcmp(ip->text, "::1") == 0)
		return true;
	return own->ip_count != 0 &&
	       bsearch(ip, own->ips, own->ip_count, sizeof(*own->ips), compare_ips) != NULL;
}

/* ---- pools ---- */

static bool may_be_ours(const struct own_listeners *own, uint64_t port)
{
	return port < PORT_COUNT && (own->ports[port / 8] >> port % 8 & 1) != 0;
}

/* The first place with this port, or the one after it. */
static size_t find_port(const struct own_listeners *own, uint64_t port)
{
	size_t low = 0;
	size_t high = own->places.count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (own->places.items[middle].port < port)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool is_ours(
	const struct own_listeners *own, const struct pool_endpoint *endpoint, bool is_udp)
{
	struct check_ip ip;
	if (!may_be_ours(own, endpoint->port) || !check_ip(endpoint->ip, &ip))
		return false;
	for (size_t i = find_port(own, endpoint->port);
		i < own->places.count && own->places.items[i].port == endpoint->port; i++) {
		const struct check_ip *place = &own->places.items[i].ip;
		if (own->places.items[i].is_udp != is_udp)
			continue;
		if (strcmp(place->text, ip.text) == 0 || socket_is_wildcard(&ip))
			return true;
		if (socket_is_wildcard(place) && place->family == ip.family &&
			is_of_machine(own, &ip))
			return true;
	}
	return false;
}

bool own_listeners_concern(const struct own_listeners *own, const struct pool *pool)
{
	if (!str_is_empty(pool->external_name))
		return may_be_ours(own, pool->target_port);
	for (size_t i = 0; i < pool->endpoints.count; i++) {
		if (may_be_ours(own, pool->endpoints.items[i].port))
			return true;
	}
	return false;
}

static void tell(struct own_listeners *own, const struct pool *pool,
	const struct pool_endpoint *refused, bool any_is_left, struct arena *arena)
{
	struct notice_owner owner = notice_of_pool(pool, arena);
	bool is_v6 = str_find(refused->ip, ':') != NULL;
	notices_set(own->notices, topic, pool->key.id, &owner, "EndpointRefused",
		arena_printf(arena,
			"endpoint %s%.*s%s:%u of Service %.*s is refused: the load balancer itself "
			"listens there; %s",
			is_v6 ? "[" : "", STR_FMT(refused->ip), is_v6 ? "]" : "",
			(unsigned)refused->port, STR_FMT(pool->service.name),
			any_is_left ? "the others are used" : "requests are answered with 503"));
}

void own_listeners_settle(struct own_listeners *own, struct pool *pool, struct arena *arena)
{
	struct pool_endpoint refused = {0};
	size_t kept = 0;
	bool any_is_left = false;
	for (size_t i = 0; i < pool->endpoints.count; i++) {
		struct pool_endpoint endpoint = pool->endpoints.items[i];
		if (is_ours(own, &endpoint, pool->protocol == POOL_UDP)) {
			if (refused.port == 0)
				refused = endpoint;
			continue;
		}
		pool->endpoints.items[kept++] = endpoint;
		any_is_left |= endpoint.active;
	}
	pool->endpoints.count = kept;
	if (refused.port != 0)
		tell(own, pool, &refused, any_is_left, arena);
	else
		notices_clear(own->notices, topic, pool->key.id);
}

void own_listeners_drop(struct own_listeners *own, struct str pool_id)
{
	notices_clear(own->notices, topic, pool_id);
}

/* ---- lifecycle ---- */

struct own_listeners *own_listeners_new(const struct publish *publish, struct notices *notices)
{
	struct own_listeners *own = xcalloc(1, sizeof(*own));
	own->publish = publish;
	own->notices = notices;
	return own;
}

void own_listeners_free(struct own_listeners *own)
{
	if (own == NULL)
		return;
	free(own->places.items);
	free(own->ips);
	free(own);
}

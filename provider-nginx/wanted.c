// SPDX-License-Identifier: Apache-2.0
#include "provider-nginx/wanted.h"

#include "common/xalloc.h"

#include <string.h>

struct wanted {
	struct wanted_parts parts;
	struct arena arena;
	struct conf conf;
	struct ports ports;
	bool holds_any;          /* nginx listens, but it is unknown where */
	struct ports *kept;      /* the last ports that nginx accepted; NULL: unknown */
	struct socket_list held; /* where nginx listens */
	uint16_t *held_split;    /* ports among them that are split, see struct conf */
	size_t held_split_count;
};

struct wanted *wanted_new(const struct wanted_parts *parts)
{
	struct wanted *wanted = xcalloc(1, sizeof(*wanted));
	wanted->parts = *parts;
	arena_init(&wanted->arena);
	return wanted;
}

void wanted_free(struct wanted *wanted)
{
	if (wanted == NULL)
		return;
	ports_free(wanted->kept);
	free(wanted->held.items);
	free(wanted->held_split);
	arena_fini(&wanted->arena);
	free(wanted);
}

/* ---- relevant changes ---- */

bool wanted_has_pool(const struct wanted *wanted, const struct object *object)
{
	struct name name = name_of(NAME_POOL, object_id(object));
	return conf_find_pool(&wanted->conf, &name) != NULL;
}

static bool is_passed(struct wanted *wanted, const struct object *object, struct arena *arena)
{
	struct virtual_host value;
	state_decode(wanted->parts.state, object, arena, &value);
	return value.passthrough;
}

bool wanted_is_changed(struct wanted *wanted, const struct state_commit *commit)
{
	struct arena arena;
	const struct ways *ways = wanted->parts.ways;
	bool is_changed = commit->is_snapshot ||
			  (ways != NULL && memcmp(ways, &wanted->conf.ways, sizeof(*ways)) != 0);
	arena_init(&arena);
	for (size_t i = 0; i < commit->change_count && !is_changed; i++) {
		const struct object *object = commit->changes[i].object;
		enum lb_kind kind = object_kind(object);
		is_changed = kind == LB_LOAD_BALANCER ||
			     (kind == LB_POOL && wanted->conf.pool_count != 0 &&
				     wanted_has_pool(wanted, object)) ||
			     (kind == LB_VIRTUAL_HOST && is_passed(wanted, object, &arena));
		arena_reset(&arena);
	}
	arena_fini(&arena);
	return is_changed;
}

/* ---- pools ---- */

static void fill_pool(struct wanted *wanted, struct conf_pool *pool)
{
	struct object *object = objects_find(wanted->parts.objects, name_str(&pool->name));
	struct pool value;
	if (object == NULL)
		return;
	state_decode(wanted->parts.state, object, &wanted->arena, &value);
	externals_settle(wanted->parts.externals, &value, &wanted->arena);
	pool->algorithm = value.algorithm;
	pool->sends_proxy = value.sends_proxy;
	pool->peers = arena_calloc(&wanted->arena, value.endpoints.count + 1, sizeof(*pool->peers));
	for (size_t i = 0; i < value.endpoints.count; i++) {
		const struct pool_endpoint *endpoint = &value.endpoints.items[i];
		struct conf_peer *peer = &pool->peers[pool->peer_count];
		if (!endpoint->active || !check_port(endpoint->port) ||
			!check_ip(endpoint->ip, &peer->ip))
			continue;
		peer->port = (uint16_t)endpoint->port;
		pool->peer_count++;
	}
}

static void add_pool(struct wanted *wanted, const struct name *name)
{
	struct conf *conf = &wanted->conf;
	struct conf_pool *pool =
		arena_push(&wanted->arena, (void **)&conf->pools, &conf->pool_count, sizeof(*pool));
	*pool = (struct conf_pool){.name = *name};
}

/* ---- listeners and hosts ---- */

static void add_passing(struct wanted *wanted, size_t index)
{
	struct conf *conf = &wanted->conf;
	const struct port *port = &wanted->ports.items[index];
	struct str key = arena_printf(&wanted->arena, "%s:%s:%u", port_is_udp(port) ? "udp" : "tcp",
		port->load_balancer.text, port->port);
	struct str name = rows_wanted(wanted->parts.rows, ROW_WHOLE, key);
	if (!name_is_one(NAME_POOL, name))
		return;
	struct conf_tcp *tcp =
		arena_push(&wanted->arena, (void **)&conf->tcp, &conf->tcp_count, sizeof(*tcp));
	*tcp = (struct conf_tcp){.port = index};
	memcpy(tcp->pool.text, name.p, NAME_LEN);
	add_pool(wanted, &tcp->pool);
}

static void add_pass(struct wanted *wanted, const struct object *object)
{
	struct conf *conf = &wanted->conf;
	struct virtual_host value;
	state_decode(wanted->parts.state, object, &wanted->arena, &value);
	if (!value.passthrough || value.rules.count == 0 ||
		(!check_host(value.host) && !check_wildcard(value.host)))
		return;
	struct conf_pass *pass = arena_push(
		&wanted->arena, (void **)&conf->passes, &conf->pass_count, sizeof(*pass));
	*pass = (struct conf_pass){
		.load_balancer = name_of(NAME_LOAD_BALANCER, value.load_balancer),
		.load_balancer_id = arena_str(&wanted->arena, value.load_balancer),
		.host = arena_str(&wanted->arena, value.host),
		.pool = name_of(NAME_POOL, value.rules.items[0].pool),
		.ingress = arena_str(&wanted->arena, value.rules.items[0].ingress),
	};
	add_pool(wanted, &pass->pool);
}

static bool has_passes(const struct wanted *wanted)
{
	for (size_t i = 0; i < wanted->ports.count; i++) {
		if (routes_passthrough_count(
			    wanted->parts.routes, &wanted->ports.items[i].load_balancer) != 0)
			return true;
	}
	return false;
}

/* The state frees its texts at the next commit. */
static void copy_texts(struct wanted *wanted)
{
	for (size_t i = 0; i < wanted->ports.count; i++) {
		struct port *port = &wanted->ports.items[i];
		port->service = arena_str(&wanted->arena, port->service);
		port->default_certificate = arena_str(&wanted->arena, port->default_certificate);
		port->load_balancer_id = arena_str(&wanted->arena, port->load_balancer_id);
	}
	for (size_t i = 0; i < wanted->ports.unserved_count; i++) {
		struct unserved_port *unserved = &wanted->ports.unserved[i];
		unserved->service = arena_str(&wanted->arena, unserved->service);
		unserved->load_balancer = arena_str(&wanted->arena, unserved->load_balancer);
	}
}

static void add_trusts(struct wanted *wanted)
{
	struct conf *conf = &wanted->conf;
	const struct trust_view *view = NULL;
	while ((view = trusts_next(objects_trusts(wanted->parts.objects), view)) != NULL) {
		struct conf_trust *trust = arena_push(
			&wanted->arena, (void **)&conf->trusts, &conf->trust_count, sizeof(*trust));
		*trust = (struct conf_trust){.name = view->name, .terms.base = view->name};
		if (str_is_empty(view->terms))
			continue;
		trust->text = arena_str(&wanted->arena, view->terms);
		must(terms_read(trust->text, &trust->terms));
	}
}

/* ---- several sockets of one port ---- */

static bool is_held_split(const struct wanted *wanted, uint16_t port)
{
	for (size_t i = 0; i < wanted->held_split_count; i++) {
		if (wanted->held_split[i] == port)
			return true;
	}
	return false;
}

/* Whether another socket that nginx has, or just had, on this port would keep it from binding this one. */
static bool conflicts_with_held(
	const struct wanted *wanted, const struct check_ip *ip, uint16_t port)
{
	for (size_t i = 0; i < wanted->held.count; i++) {
		const struct socket_address *held = &wanted->held.items[i];
		if (!held->is_udp && held->port == port && socket_overlaps(&held->ip, ip) &&
			memcmp(held->ip.bytes, ip->bytes, sizeof(ip->bytes)) != 0)
			return true;
	}
	return false;
}

/* Whether another one for connections has its number. */
static bool shares_number(const struct ports *ports, size_t index)
{
	uint16_t port = ports->items[index].port;
	size_t first = index;
	while (first > 0 && ports->items[first - 1].port == port)
		first--;
	for (size_t i = first; i < ports->count && ports->items[i].port == port; i++) {
		if (i != index && !port_is_udp(&ports->items[i]))
			return true;
	}
	return false;
}

static bool is_split(const struct wanted *wanted, size_t index)
{
	const struct ports *ports = &wanted->ports;
	const struct port *port = &ports->items[index];
	/* Those of UDP have a socket of each worker in any case. */
	if (port_is_udp(port))
		return false;
	if (shares_number(ports, index) || is_held_split(wanted, port->port))
		return true;
	for (size_t i = 0; i < port->bind_count; i++) {
		if (conflicts_with_held(wanted, &port->binds[i], port->port))
			return true;
	}
	return false;
}

static void add_split(struct wanted *wanted)
{
	struct conf *conf = &wanted->conf;
	uint16_t *split = arena_calloc(&wanted->arena, wanted->ports.count + 1, sizeof(*split));
	for (size_t i = 0; i < wanted->ports.count; i++) {
		uint16_t port = wanted->ports.items[i].port;
		bool is_new = conf->split_count == 0 || split[conf->split_count - 1] != port;
		if (is_new && is_split(wanted, i))
			split[conf->split_count++] = port;
	}
	conf->split = split;
}

static bool is_wanted(const struct wanted *wanted, const struct socket_address *address)
{
	for (size_t i = 0; i < wanted->ports.count; i++) {
		const struct port *port = &wanted->ports.items[i];
		for (size_t k = 0; port->port == address->port && k < port->bind_count; k++) {
			struct socket_address bind = port_address(port, &port->binds[k]);
			if (socket_compare(&bind, address) == 0)
				return true;
		}
	}
	return false;
}

/* A socket that has its port exclusively blocks all others: it is first made a shared one, then closed. */
static void add_leaving(struct wanted *wanted)
{
	struct conf *conf = &wanted->conf;
	struct socket_list *leaving = &conf->leaving;
	for (size_t i = 0; i < wanted->held.count; i++) {
		const struct socket_address *held = &wanted->held.items[i];
		bool is_in_the_way = false;
		for (size_t k = 0; k < conf->split_count; k++)
			is_in_the_way |= conf->split[k] == held->port;
		if (held->is_udp || !is_in_the_way || is_held_split(wanted, held->port) ||
			is_wanted(wanted, held))
			continue;
		struct socket_address *place = arena_push(
			&wanted->arena, (void **)&leaving->items, &leaving->count, sizeof(*place));
		*place = *held;
	}
}

/* ---- result ---- */

static void probe_ports(struct wanted *wanted, const struct ports_proxy *nginx)
{
	struct socket_list all = ports_sockets(&wanted->ports);
	struct ports_proxy known = *nginx;
	if (wanted->holds_any && nginx->held != NULL)
		known.held = &all;
	ports_probe(&wanted->ports, &known, &wanted->arena);
	free(all.items);
}

const struct conf *wanted_collect(struct wanted *wanted, const struct ports_proxy *nginx)
{
	struct conf *conf = &wanted->conf;
	struct state *state = wanted->parts.state;
	arena_reset(&wanted->arena);
	*conf = (struct conf){.options = wanted->parts.options, .ports = &wanted->ports};
	if (wanted->parts.ways != NULL)
		conf->ways = *wanted->parts.ways;
	ports_collect(state, wanted->parts.routes, wanted->parts.publish, wanted->parts.notices,
		wanted->kept, &wanted->arena, &wanted->ports);
	if (nginx != NULL)
		probe_ports(wanted, nginx);
	copy_texts(wanted);
	for (size_t i = 0; i < wanted->ports.count; i++) {
		enum listener_protocol protocol = wanted->ports.items[i].protocol;
		if (protocol == LISTENER_TCP || protocol == LISTENER_UDP)
			add_passing(wanted, i);
	}
	struct object *object = has_passes(wanted) ? state_first(state, LB_VIRTUAL_HOST) : NULL;
	for (; object != NULL; object = state_next(state, object))
		add_pass(wanted, object);
	conf_sort(conf);
	for (size_t i = 0; i < conf->pool_count; i++)
		fill_pool(wanted, &conf->pools[i]);
	add_trusts(wanted);
	add_split(wanted);
	if (nginx != NULL && nginx->master != 0)
		add_leaving(wanted);
	return conf;
}

const struct socket_list *wanted_held(const struct wanted *wanted)
{
	return &wanted->held;
}

const struct ports *wanted_ports(const struct wanted *wanted)
{
	return &wanted->ports;
}

bool wanted_is_leaving(const struct wanted *wanted)
{
	return wanted->conf.leaving.count != 0;
}

void wanted_assume_any(struct wanted *wanted)
{
	wanted->holds_any = true;
}

void wanted_assume(struct wanted *wanted, struct str file)
{
	free(wanted->held.items);
	free(wanted->held_split);
	wanted->held = ports_read_sockets(file, CONF_LISTEN);
	wanted->held_split = conf_read_split(file, &wanted->held_split_count);
}

void wanted_keep(struct wanted *wanted, struct str file)
{
	wanted->holds_any = false;
	ports_free(wanted->kept);
	wanted->kept = ports_copy(&wanted->ports);
	wanted_assume(wanted, file);
}

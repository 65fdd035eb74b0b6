// SPDX-License-Identifier: Apache-2.0
#include "provider-nginx/wanted.h"

#include "common/xalloc.h"

struct wanted {
	struct wanted_parts parts;
	struct arena arena;
	struct conf conf;
	struct ports ports;
	struct ports *held;
	bool misses_ports;
	bool holds_any;
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
	ports_free(wanted->held);
	arena_fini(&wanted->arena);
	free(wanted);
}

/* ---- what changes it ---- */

bool wanted_has_pool(const struct wanted *wanted, const struct object *object)
{
	struct name name = name_of(NAME_POOL, object_id(object));
	for (size_t i = 0; i < wanted->conf.pool_count; i++) {
		if (strcmp(wanted->conf.pools[i].name.text, name.text) == 0)
			return true;
	}
	return false;
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
	bool is_changed = commit->is_snapshot;
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

static void fill_pool(struct wanted *wanted, struct conf_pool *pool, struct str name)
{
	struct object *object = objects_find(wanted->parts.objects, name);
	struct pool value;
	if (object == NULL)
		return;
	state_decode(wanted->parts.state, object, &wanted->arena, &value);
	externals_settle(wanted->parts.externals, &value, &wanted->arena);
	pool->algorithm = value.algorithm;
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

/* Once for each name. The pools are few, or those of very many passed-through hosts of a configuration that is rare. */
static void add_pool(struct wanted *wanted, const struct name *name)
{
	struct conf *conf = &wanted->conf;
	for (size_t i = 0; i < conf->pool_count; i++) {
		if (strcmp(conf->pools[i].name.text, name->text) == 0)
			return;
	}
	struct conf_pool *pool =
		arena_push(&wanted->arena, (void **)&conf->pools, &conf->pool_count, sizeof(*pool));
	*pool = (struct conf_pool){.name = *name};
	fill_pool(wanted, pool, name_str(name));
}

/* ---- listeners and hosts ---- */

static void add_tcp(struct wanted *wanted, const struct port *port)
{
	struct conf *conf = &wanted->conf;
	struct str key =
		arena_printf(&wanted->arena, "tcp:%s:%u", port->load_balancer.text, port->port);
	struct str name = rows_wanted(wanted->parts.rows, ROW_WHOLE, key);
	if (!name_is_one(NAME_POOL, name))
		return;
	struct conf_tcp *tcp =
		arena_push(&wanted->arena, (void **)&conf->tcp, &conf->tcp_count, sizeof(*tcp));
	*tcp = (struct conf_tcp){.port = port->port};
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

/* Texts of the state go with the next commit. */
static void copy_texts(struct wanted *wanted)
{
	for (size_t i = 0; i < wanted->ports.count; i++) {
		struct port *port = &wanted->ports.items[i];
		port->service = arena_str(&wanted->arena, port->service);
		port->default_certificate = arena_str(&wanted->arena, port->default_certificate);
	}
}

static void add_trusts(struct wanted *wanted)
{
	struct conf *conf = &wanted->conf;
	const struct trust_view *view = NULL;
	while ((view = trusts_next(objects_trusts(wanted->parts.objects), view)) != NULL)
		*(struct name *)arena_push(&wanted->arena, (void **)&conf->trusts,
			&conf->trust_count, sizeof(struct name)) = view->name;
}

static const struct ports *held_of(const struct wanted *wanted, bool holds_ports)
{
	const struct ports *held = wanted->holds_any ? &wanted->ports : wanted->held;
	return holds_ports ? held : NULL;
}

const struct conf *wanted_collect(struct wanted *wanted, bool holds_ports)
{
	struct conf *conf = &wanted->conf;
	struct state *state = wanted->parts.state;
	arena_reset(&wanted->arena);
	*conf = (struct conf){.options = wanted->parts.options, .ports = &wanted->ports};
	conf->bind_count = publish_binds(wanted->parts.publish, &conf->binds);
	ports_collect(state, wanted->parts.routes, wanted->parts.notices, wanted->held,
		&wanted->arena, &wanted->ports);
	wanted->misses_ports = !wanted->parts.is_offline &&
			       ports_probe(&wanted->ports, held_of(wanted, holds_ports),
				       conf->binds, conf->bind_count, wanted->parts.notices) != 0;
	copy_texts(wanted);
	for (size_t i = 0; i < wanted->ports.count; i++) {
		if (wanted->ports.items[i].protocol == LISTENER_TCP)
			add_tcp(wanted, &wanted->ports.items[i]);
	}
	struct object *object = has_passes(wanted) ? state_first(state, LB_VIRTUAL_HOST) : NULL;
	for (; object != NULL; object = state_next(state, object))
		add_pass(wanted, object);
	add_trusts(wanted);
	return conf;
}

bool wanted_misses_ports(const struct wanted *wanted)
{
	return wanted->misses_ports;
}

void wanted_assume(struct wanted *wanted, struct ports *ports)
{
	ports_free(wanted->held);
	wanted->held = ports;
}

void wanted_assume_any(struct wanted *wanted)
{
	wanted->holds_any = true;
}

void wanted_keep(struct wanted *wanted)
{
	wanted->holds_any = false;
	struct ports *copy = ports_copy(&wanted->ports);
	ports_free(wanted->held);
	wanted->held = copy;
}

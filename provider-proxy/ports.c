// SPDX-License-Identifier: Apache-2.0
#include "provider-proxy/ports.h"

#include "common/xalloc.h"

#include <stdio.h>

static const char topic[] = "range";

/* One address and port of one listener. */
struct want {
	struct socket_address address;
	uint64_t created;
	struct str load_balancer; /* id */
	const struct listener *listener;
	const struct forwarding *forwarding; /* of the load balancer; NULL: none */
	uint16_t https_port;                 /* of its first listener for HTTPS; 0: none */
};

struct collecting {
	struct arena *arena;
	struct notices *notices;
	const struct routes *routes;
	const struct check_ip *binds; /* default bind addresses */
	size_t bind_count;
	struct want *wants;
	size_t want_count;
	size_t udp_count;
	struct ports *ports;
};

/* ---- unserved ---- */

static void add_unserved(struct arena *arena, struct ports *ports, struct str load_balancer,
	struct str service, const struct socket_address *address, enum unserved_cause cause,
	const char *why)
{
	struct unserved_port *port =
		arena_push(arena, (void **)&ports->unserved, &ports->unserved_count, sizeof(*port));
	*port = (struct unserved_port){
		.cause = cause,
		.load_balancer = load_balancer,
		.service = service,
		.address = *address,
		.message = arena_printf(arena, "%sport %u of %s is not served: %s",
			address->is_udp ? "UDP " : "", address->port, address->ip.text, why),
	};
}

void ports_add_unserved(struct arena *arena, struct ports *ports, const struct port *port,
	const struct socket_address *address, enum unserved_cause cause, const char *why)
{
	add_unserved(arena, ports, port->load_balancer_id, port->service, address, cause, why);
}

static void reject(
	struct collecting *c, const struct want *want, enum unserved_cause cause, const char *why)
{
	add_unserved(c->arena, c->ports, want->load_balancer, want->listener->service,
		&want->address, cause, why);
}

/* ---- wanted addresses ---- */

static uint16_t first_https(const struct load_balancer *balancer)
{
	for (size_t i = 0; i < balancer->listeners.count; i++) {
		if (balancer->listeners.items[i].protocol == LISTENER_HTTPS)
			return (uint16_t)balancer->listeners.items[i].port;
	}
	return 0;
}

static void want_address(struct collecting *c, const struct listener *listener,
	const struct load_balancer *balancer, const struct check_ip *ip)
{
	struct want *want = arena_push(c->arena, (void **)&c->wants, &c->want_count, sizeof(*want));
	*want = (struct want){
		.address = {*ip, (uint16_t)listener->port, listener->protocol == LISTENER_UDP},
		/* Listeners of unknown age count as the youngest. */
		.created = listener->created != 0 ? listener->created : UINT64_MAX,
		.load_balancer = balancer->key.id,
		.listener = listener,
		.forwarding = balancer->forwarding,
		.https_port = first_https(balancer),
	};
}

static void want_listener(
	struct collecting *c, const struct listener *listener, const struct load_balancer *balancer)
{
	struct check_ip ip;
	if (!check_port(listener->port))
		return;
	if (str_is_empty(listener->address)) {
		for (size_t i = 0; i < c->bind_count; i++)
			want_address(c, listener, balancer, &c->binds[i]);
	} else if (check_ip(listener->address, &ip)) {
		want_address(c, listener, balancer, &ip);
	}
}

static int compare_wants(const void *a_, const void *b_)
{
	const struct want *a = a_;
	const struct want *b = b_;
	int order = socket_compare(&a->address, &b->address);
	if (order == 0)
		order = (a->created > b->created) - (a->created < b->created);
	if (order == 0)
		order = str_cmp(a->load_balancer, b->load_balancer);
	return order != 0 ? order : (a->listener > b->listener) - (a->listener < b->listener);
}

/* Of listeners with the same address and port the oldest stays. */
static void settle_conflicts(struct collecting *c)
{
	size_t kept = 0;
	if (c->want_count > 1)
		qsort(c->wants, c->want_count, sizeof(*c->wants), compare_wants);
	for (size_t i = 0; i < c->want_count; i++) {
		const struct want *last = kept != 0 ? &c->wants[kept - 1] : NULL;
		if (last == NULL || socket_compare(&last->address, &c->wants[i].address) != 0)
			c->wants[kept++] = c->wants[i];
		else if (last->listener != c->wants[i].listener)
			reject(c, &c->wants[i], UNSERVED_CONFLICT,
				"it is served for another load balancer, which had it first");
	}
	c->want_count = kept;
}

/* ---- from addresses to ports ---- */

static int by_port(const void *a_, const void *b_)
{
	const struct want *a = a_;
	const struct want *b = b_;
	if (a->address.port != b->address.port)
		return a->address.port < b->address.port ? -1 : 1;
	int order = str_cmp(a->load_balancer, b->load_balancer);
	if (order == 0)
		order = (int)a->address.is_udp - (int)b->address.is_udp;
	return order != 0 ? order : socket_compare(&a->address, &b->address);
}

static void tell_ranges(struct collecting *c, const struct port *port, const char *what)
{
	char key[64];
	const char *word = port_is_udp(port) ? "UDP " : "";
	struct str message = arena_printf(c->arena, "%sport %u %s", word, port->port, what);
	struct notice_owner owner = notice_of_service(port->load_balancer_id, port->service);
	snprintf(key, sizeof(key), "%s%05u", word, port->port);
	notices_set(c->notices, topic, str_from(key), &owner, "SourceRangeRefused", message);
}

static void read_ranges(struct collecting *c, const struct listener *listener, struct port *port)
{
	const struct str_list *list = &listener->source_ranges;
	port->ranges = arena_calloc(c->arena, list->count + 1, sizeof(*port->ranges));
	for (size_t i = 0; i < list->count && i < PORTS_RANGES_MAX; i++) {
		if (check_cidr(list->items[i], &port->ranges[port->range_count]))
			port->range_count++;
		else
			tell_ranges(c, port,
				"has a source range that is no network in CIDR form; it is left "
				"out");
	}
	if (list->count > PORTS_RANGES_MAX)
		tell_ranges(c, port,
			"has more source ranges than can be served; the last are left out");
	port->is_closed = list->count != 0 && port->range_count == 0;
}

/* A port for TCP that reads the PROXY protocol is there for whoever speaks it. */
static const struct forwarding *fronts_of(const struct want *want)
{
	static struct str everybody[] = {STR("0.0.0.0/0"), STR("::/0")};
	static const struct forwarding all = {.trusted = {everybody, 2}};
	bool is_for_all = want->listener->protocol == LISTENER_TCP && want->listener->reads_proxy &&
			  (want->forwarding == NULL || want->forwarding->trusted.count == 0);
	return is_for_all ? &all : want->forwarding;
}

static uint32_t limited(uint64_t number)
{
	enum { MOST = 1000000 };
	return number < MOST ? (uint32_t)number : MOST;
}

static struct port *add_port(struct collecting *c, const struct want *want)
{
	struct ports *ports = c->ports;
	const struct listener *listener = want->listener;
	struct name name = name_of(NAME_LOAD_BALANCER, want->load_balancer);
	struct port *port =
		arena_push(c->arena, (void **)&ports->items, &ports->count, sizeof(*port));
	*port = (struct port){
		.port = want->address.port,
		.protocol = listener->protocol,
		.load_balancer = name,
		.has_own_address = !str_is_empty(listener->address),
		.has_passthrough = listener->protocol == LISTENER_HTTPS &&
				   routes_passthrough_count(c->routes, &name) != 0,
		.default_certificate = listener->default_certificate,
		.service = listener->service,
		.load_balancer_id = want->load_balancer,
		.idle_s = limited(listener->idle_s),
		.responses = limited(listener->responses),
		.one_way = listener->one_way,
	};
	c->udp_count += port_is_udp(port);
	read_ranges(c, listener, port);
	trusted_proxies_read(fronts_of(want), listener->reads_proxy, c->arena, &port->forwarding);
	if (port->forwarding.https_port != 0 && port->forwarding.https_port != want->https_port)
		port->forwarding.own_https_port = want->https_port;
	return port;
}

/* Addresses of the same port of one load balancer are adjacent. */
static void join_ports(struct collecting *c)
{
	const struct listener *first = NULL;
	struct port *port = NULL;
	if (c->want_count > 1)
		qsort(c->wants, c->want_count, sizeof(*c->wants), by_port);
	for (size_t i = 0; i < c->want_count; i++) {
		const struct want *want = &c->wants[i];
		bool is_next = port == NULL || port->port != want->address.port ||
			       port_is_udp(port) != want->address.is_udp ||
			       !str_eq(port->load_balancer_id, want->load_balancer);
		bool is_full = c->ports->count == PORTS_MAX ||
			       (want->address.is_udp && c->udp_count == PORTS_UDP_MAX);
		if (is_next && is_full) {
			reject(c, want, UNSERVED_LIMIT, "there are more ports than can be served");
			continue;
		}
		if (is_next) {
			first = want->listener;
			port = add_port(c, want);
		} else if (want->listener->protocol != first->protocol ||
			   want->listener->reads_proxy != first->reads_proxy ||
			   !str_eq(want->listener->pool, first->pool)) {
			reject(c, want, UNSERVED_CONFLICT,
				"the load balancer has something else on that port");
			continue;
		}
		void *binds = port->binds;
		struct check_ip *bind =
			arena_push(c->arena, &binds, &port->bind_count, sizeof(*bind));
		port->binds = binds;
		*bind = want->address.ip;
	}
}

static void keep_old(
	struct collecting *c, const struct name *load_balancer, const struct ports *old)
{
	for (size_t i = 0; old != NULL && i < old->count; i++) {
		if (strcmp(old->items[i].load_balancer.text, load_balancer->text) != 0)
			continue;
		struct port *port = arena_push(
			c->arena, (void **)&c->ports->items, &c->ports->count, sizeof(*port));
		*port = old->items[i];
	}
}

static int compare_items(const void *a_, const void *b_)
{
	const struct port *a = a_;
	const struct port *b = b_;
	if (a->port != b->port)
		return a->port < b->port ? -1 : 1;
	int order = strcmp(a->load_balancer.text, b->load_balancer.text);
	return order != 0 ? order : (int)port_is_udp(a) - (int)port_is_udp(b);
}

void ports_collect(struct state *state, const struct routes *routes, const struct publish *publish,
	struct notices *notices, const struct ports *old, struct arena *arena,
	struct ports *ret_ports)
{
	struct collecting c = {
		.arena = arena, .notices = notices, .routes = routes, .ports = ret_ports};
	struct object *object = state_first(state, LB_LOAD_BALANCER);
	c.bind_count = publish_binds(publish, &c.binds);
	*ret_ports = (struct ports){0};
	notices_clear_all(notices, topic, STR(""));
	for (; object != NULL; object = state_next(state, object)) {
		struct load_balancer *value = arena_alloc(arena, sizeof(*value));
		struct name name = name_of(NAME_LOAD_BALANCER, object_id(object));
		state_decode(state, object, arena, value);
		if (value->keep)
			keep_old(&c, &name, old);
		for (size_t i = 0; i < value->listeners.count; i++)
			want_listener(&c, &value->listeners.items[i], value);
	}
	settle_conflicts(&c);
	join_ports(&c);
	if (ret_ports->count > 1)
		qsort(ret_ports->items, ret_ports->count, sizeof(*ret_ports->items), compare_items);
}

struct port_label port_label_of(const struct port *port)
{
	struct port_label label;
	if (port->has_own_address)
		snprintf(label.text, sizeof(label.text), "%u_%.8s", port->port,
			port->load_balancer.text + 1);
	else
		snprintf(label.text, sizeof(label.text), "%u", port->port);
	return label;
}

/* ---- sockets ---- */

static struct socket_address *push_socket(struct socket_list *list, size_t *room)
{
	if (list->count == *room) {
		*room = *room != 0 ? 2 * *room : 16;
		list->items = xrealloc(list->items, *room * sizeof(*list->items));
	}
	return &list->items[list->count++];
}

static void sort_sockets(struct socket_list *list)
{
	if (list->count > 1)
		qsort(list->items, list->count, sizeof(*list->items), socket_compare);
}

struct str ports_default_certificate(const struct ports *ports)
{
	for (size_t i = 0; i < ports->count; i++) {
		if (!str_is_empty(ports->items[i].default_certificate))
			return ports->items[i].default_certificate;
	}
	return STR_NONE;
}

bool ports_name_fronts(const struct ports *ports)
{
	for (size_t i = 0; i < ports->count; i++) {
		if (ports->items[i].protocol != LISTENER_TCP &&
			ports->items[i].forwarding.trusted_count != 0)
			return true;
	}
	return false;
}

struct socket_list ports_sockets(const struct ports *ports)
{
	struct socket_list list = {0};
	size_t room = 0;
	for (size_t i = 0; i < ports->count; i++) {
		const struct port *port = &ports->items[i];
		for (size_t k = 0; k < port->bind_count; k++)
			*push_socket(&list, &room) = port_address(port, &port->binds[k]);
	}
	sort_sockets(&list);
	return list;
}

struct socket_list ports_read_sockets(struct str file, const char *mark)
{
	struct socket_list list = {0};
	struct socket_address address;
	size_t room = 0;
	size_t len = strlen(mark);
	const char *at;
	while (list.count < SOCKETS_MAX && file.len != 0 &&
		(at = memmem(file.p, file.len, mark, len)) != NULL) {
		file = str_skip(file, (size_t)(at - file.p) + len);
		if (socket_parse(file, &address))
			*push_socket(&list, &room) = address;
	}
	sort_sockets(&list);
	return list;
}

static bool is_known(struct state *state, struct str name)
{
	struct object *object = state_first(state, LB_LOAD_BALANCER);
	for (; object != NULL; object = state_next(state, object)) {
		struct name known = name_of(NAME_LOAD_BALANCER, object_id(object));
		if (str_eq(name_str(&known), name))
			return true;
	}
	return false;
}

bool ports_names_former(struct str file, struct state *state)
{
	struct name last = {.text = ""};
	const char *end = file.p + file.len;
	for (const char *at = file.p; file.len > NAME_LEN && at < end - NAME_LEN;) {
		struct str word = {at, NAME_LEN};
		if (*at != NAME_LOAD_BALANCER || !name_is_one(NAME_LOAD_BALANCER, word)) {
			at++;
			continue;
		}
		if (!str_eq(word, name_str(&last)) && !is_known(state, word))
			return true;
		memcpy(last.text, at, NAME_LEN);
		at += NAME_LEN;
	}
	return false;
}

/* ---- copies ---- */

static struct str copy_text(struct str text)
{
	return (struct str){str_dup(text), text.len};
}

static void free_text(struct str text)
{
	free((char *)(uintptr_t)text.p);
}

static void *copy_items(const void *items, size_t count, size_t size)
{
	return count != 0 ? xmemdup(items, count * size) : NULL;
}

struct ports *ports_copy(const struct ports *ports)
{
	struct ports *copy = xcalloc(1, sizeof(*copy));
	copy->count = ports->count;
	copy->items = copy_items(ports->items, ports->count, sizeof(*copy->items));
	copy->unserved_count = ports->unserved_count;
	copy->unserved =
		copy_items(ports->unserved, ports->unserved_count, sizeof(*copy->unserved));
	for (size_t i = 0; i < copy->count; i++) {
		struct port *item = &copy->items[i];
		item->default_certificate = copy_text(item->default_certificate);
		item->service = copy_text(item->service);
		item->load_balancer_id = copy_text(item->load_balancer_id);
		item->binds = copy_items(item->binds, item->bind_count, sizeof(*item->binds));
		item->ranges = copy_items(item->ranges, item->range_count, sizeof(*item->ranges));
		item->forwarding.trusted = copy_items(item->forwarding.trusted,
			item->forwarding.trusted_count, sizeof(*item->forwarding.trusted));
	}
	for (size_t i = 0; i < copy->unserved_count; i++) {
		struct unserved_port *port = &copy->unserved[i];
		port->load_balancer = copy_text(port->load_balancer);
		port->service = copy_text(port->service);
		port->message = copy_text(port->message);
	}
	return copy;
}

void ports_free(struct ports *ports)
{
	if (ports == NULL)
		return;
	for (size_t i = 0; i < ports->count; i++) {
		free_text(ports->items[i].default_certificate);
		free_text(ports->items[i].service);
		free_text(ports->items[i].load_balancer_id);
		free(ports->items[i].binds);
		free(ports->items[i].ranges);
		free(ports->items[i].forwarding.trusted);
	}
	for (size_t i = 0; i < ports->unserved_count; i++) {
		free_text(ports->unserved[i].load_balancer);
		free_text(ports->unserved[i].service);
		free_text(ports->unserved[i].message);
	}
	free(ports->items);
	free(ports->unserved);
	free(ports);
}

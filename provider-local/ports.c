// SPDX-License-Identifier: Apache-2.0
#include "provider-local/ports.h"

#include "common/xalloc.h"

#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

static const char topic[] = "port";

/* ---- what is wanted ---- */

struct collecting {
	struct arena *arena;
	struct notices *notices;
	struct port *items;
	size_t count;
};

static void tell(struct notices *notices, unsigned port, struct str service, const char *reason,
	const char *what)
{
	char key[64];
	char message[512];
	snprintf(key, sizeof(key), "%05u/%s", port, reason);
	snprintf(message, sizeof(message), "port %u %s", port, what);
	struct lb_notice notice = {
		.service = service,
		.reason = str_from(reason),
		.message = str_from(message),
	};
	notices_set(notices, topic, str_from(key), &notice);
}

static void read_ranges(
	struct collecting *collecting, const struct listener *listener, struct port *port)
{
	const struct str_list *list = &listener->source_ranges;
	port->ranges = arena_calloc(collecting->arena, list->count + 1, sizeof(*port->ranges));
	for (size_t i = 0; i < list->count && i < PORTS_RANGES_MAX; i++) {
		if (check_cidr(list->items[i], &port->ranges[port->range_count]))
			port->range_count++;
		else
			tell(collecting->notices, port->port, listener->service,
				"SourceRangeRefused",
				"has a source range that is no network in CIDR form; it is left "
				"out");
	}
	if (list->count > PORTS_RANGES_MAX)
		tell(collecting->notices, port->port, listener->service, "SourceRangeRefused",
			"has more source ranges than can be served; the last are left out");
	port->is_closed = list->count != 0 && port->range_count == 0;
}

static void add_listener(struct collecting *collecting, const struct routes *routes,
	const struct name *load_balancer, const struct listener *listener)
{
	if (!check_port(listener->port))
		return;
	for (size_t i = 0; i < collecting->count; i++) {
		if (collecting->items[i].port != listener->port)
			continue;
		tell(collecting->notices, (unsigned)listener->port, listener->service,
			"PortConflict", "is served for another load balancer on this machine");
		return;
	}
	if (collecting->count == PORTS_MAX) {
		tell(collecting->notices, (unsigned)listener->port, listener->service,
			"PortRefused", "is left out: there are more ports than can be served");
		return;
	}
	struct port *port = arena_push(
		collecting->arena, (void **)&collecting->items, &collecting->count, sizeof(*port));
	*port = (struct port){
		.port = (uint16_t)listener->port,
		.protocol = listener->protocol,
		.load_balancer = *load_balancer,
		.has_passthrough = listener->protocol == LISTENER_HTTPS &&
				   routes_passthrough_count(routes, load_balancer) != 0,
		.default_certificate = listener->default_certificate,
		.service = listener->service,
	};
	read_ranges(collecting, listener, port);
}

static void keep_old(
	struct collecting *collecting, const struct name *load_balancer, const struct ports *old)
{
	for (size_t i = 0; old != NULL && i < old->count; i++) {
		if (strcmp(old->items[i].load_balancer.text, load_balancer->text) != 0)
			continue;
		struct port *port = arena_push(collecting->arena, (void **)&collecting->items,
			&collecting->count, sizeof(*port));
		*port = old->items[i];
	}
}

static int by_port(const void *a, const void *b)
{
	return (int)((const struct port *)a)->port - (int)((const struct port *)b)->port;
}

void ports_collect(struct state *state, const struct routes *routes, struct notices *notices,
	const struct ports *old, struct arena *arena, struct ports *ret_ports)
{
	struct collecting collecting = {.arena = arena, .notices = notices};
	struct object *object = state_first(state, LB_LOAD_BALANCER);
	notices_clear_all(notices, topic, STR(""));
	for (; object != NULL; object = state_next(state, object)) {
		struct load_balancer value;
		struct name name = name_of(NAME_LOAD_BALANCER, object_id(object));
		state_decode(state, object, arena, &value);
		if (value.keep)
			keep_old(&collecting, &name, old);
		for (size_t i = 0; i < value.listeners.count; i++)
			add_listener(&collecting, routes, &name, &value.listeners.items[i]);
	}
	if (collecting.count > 1)
		qsort(collecting.items, collecting.count, sizeof(*collecting.items), by_port);
	*ret_ports = (struct ports){collecting.items, collecting.count};
}

/* ---- whether they can be had ---- */

static int try_bind(const struct check_ip *ip, uint16_t port)
{
	struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(port)};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
	bool is_v4 = ip->family == AF_INET;
	memcpy(&v4.sin_addr, ip->bytes, sizeof(v4.sin_addr));
	memcpy(&v6.sin6_addr, ip->bytes, sizeof(v6.sin6_addr));
	const struct sockaddr *address = is_v4 ? (struct sockaddr *)&v4 : (struct sockaddr *)&v6;
	int fd = socket(ip->family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int one = 1;
	int err = 0;
	if (fd < 0)
		return -errno;
	/* Connections that are closing on the port are no obstacle, somebody who listens is. */
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (!is_v4)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one));
	if (bind(fd, address, is_v4 ? sizeof(v4) : sizeof(v6)) != 0 || listen(fd, 1) != 0)
		err = -errno;
	close(fd);
	return err;
}

static const char *bind_problem(int err)
{
	switch (-err) {
	case EADDRINUSE:
		return "cannot be had: another program on this machine listens on it";
	case EACCES:
	case EPERM:
		return "cannot be had: permission is denied";
	case EADDRNOTAVAIL:
		return "cannot be had: the address to bind is not one of this machine";
	default:
		return "cannot be had";
	}
}

static bool is_held(const struct ports *held, uint16_t port)
{
	struct port wanted = {.port = port};
	return held != NULL && held->count != 0 &&
	       bsearch(&wanted, held->items, held->count, sizeof(wanted), by_port) != NULL;
}

size_t ports_probe(struct ports *ports, const struct ports *held, const struct check_ip *binds,
	size_t bind_count, struct notices *notices)
{
	size_t kept = 0;
	for (size_t i = 0; i < ports->count; i++) {
		struct port *port = &ports->items[i];
		int err = 0;
		for (size_t j = 0; j < bind_count && err == 0 && !is_held(held, port->port); j++)
			err = try_bind(&binds[j], port->port);
		if (err != 0)
			tell(notices, port->port, port->service, "PortUnavailable",
				bind_problem(err));
		else
			ports->items[kept++] = *port;
	}
	size_t left_out = ports->count - kept;
	ports->count = kept;
	return left_out;
}

/* ---- copies ---- */

struct ports *ports_copy(const struct ports *ports)
{
	struct ports *copy = xcalloc(1, sizeof(*copy));
	copy->count = ports->count;
	copy->items = xcalloc(ports->count + 1, sizeof(*copy->items));
	for (size_t i = 0; i < ports->count; i++) {
		struct port *item = &copy->items[i];
		*item = ports->items[i];
		item->default_certificate = str_from(str_dup(item->default_certificate));
		item->service = str_from(str_dup(item->service));
		item->ranges = item->range_count == 0
				       ? NULL
				       : xmemdup(ports->items[i].ranges,
						 item->range_count * sizeof(*item->ranges));
	}
	return copy;
}

void ports_free(struct ports *ports)
{
	if (ports == NULL)
		return;
	for (size_t i = 0; i < ports->count; i++) {
		free((char *)(uintptr_t)ports->items[i].default_certificate.p);
		free((char *)(uintptr_t)ports->items[i].service.p);
		free(ports->items[i].ranges);
	}
	free(ports->items);
	free(ports);
}

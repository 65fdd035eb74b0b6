// SPDX-License-Identifier: Apache-2.0
#include "translator/shared.h"
#include "translator/tcp_services.h"

#include <stdlib.h>

static bool has_tls(const struct shared_request *request)
{
	bool ends = request->https_is_possible &&
		    (request->shows_certificate || !str_is_empty(request->default_certificate));
	return ends || request->passes_through;
}

static void set_tls(const struct shared_request *request, struct listener *listener)
{
	bool ends = request->https_is_possible &&
		    (request->shows_certificate || !str_is_empty(request->default_certificate));
	listener->protocol = ends ? LISTENER_HTTPS : LISTENER_TLS_PASSTHROUGH;
	if (ends)
		listener->default_certificate = request->default_certificate;
}

static size_t cost_of(const struct shared_port *port)
{
	size_t bytes = 128;
	for (size_t i = 0; port->holder != NULL && i < port->holder->source_ranges.count; i++)
		bytes += port->holder->source_ranges.items[i].len + 3;
	return port->holder != NULL ? bytes + 2 * port->holder->self.name.len + 128 : bytes;
}

static struct listener passing_listener(const struct shared_port *port, struct arena *arena)
{
	const struct plan *holder = port->holder;
	struct listener listener = {.port = port->port,
		.protocol = port->protocol,
		.source_ranges = holder->source_ranges,
		.service = arena_printf(arena, "%.*s/%.*s%s", STR_FMT(holder->self.namespace),
			STR_FMT(holder->self.name),
			!holder->self.is_config_map      ? ""
			: port->protocol == LISTENER_UDP ? TCP_SERVICES_UDP_SUFFIX
							 : TCP_SERVICES_SUFFIX)};
	for (size_t i = 0; i < holder->ports.count; i++) {
		const struct plan_port *wanted = &holder->ports.items[i];
		if (wanted->port == port->port && wanted->protocol == port->protocol)
			plan_port_set(wanted, &listener);
	}
	return listener;
}

static int compare_listeners(const void *left, const void *right)
{
	const struct listener *a = left;
	const struct listener *b = right;
	int order = a->port != b->port ? (a->port > b->port) - (a->port < b->port)
				       : str_cmp(a->address, b->address);
	return order != 0 ? order : (a->protocol == LISTENER_UDP) - (b->protocol == LISTENER_UDP);
}

static void add_class_listeners(const struct shared_request *request, struct load_balancer *lb)
{
	for (size_t i = 0; i < request->listener_count; i++) {
		const struct class_listener *wanted = &request->listeners[i];
		struct listener listener = {.address = wanted->address,
			.port = wanted->port,
			.protocol = wanted->protocol,
			.created = request->created,
			.reads_proxy = request->reads_proxy};
		if (wanted->protocol == LISTENER_HTTPS && !has_tls(request))
			continue;
		if (wanted->protocol == LISTENER_HTTPS)
			set_tls(request, &listener);
		lb->listeners.items[lb->listeners.count++] = listener;
	}
}

static struct listener port_listener(
	const struct shared_request *request, const struct shared_port *port, struct arena *arena)
{
	struct listener listener = {
		.port = port->port, .protocol = LISTENER_HTTP, .reads_proxy = request->reads_proxy};
	if (port->holder != NULL)
		listener = passing_listener(port, arena);
	else if (port->protocol == LISTENER_HTTPS)
		set_tls(request, &listener);
	listener.created = port->created;
	return listener;
}

static void add_ports(const struct shared_request *request, struct arena *arena,
	struct load_balancer *lb, struct diag_list *diags)
{
	size_t bytes = 0;
	for (size_t i = 0; i < request->port_count; i++) {
		const struct shared_port *port = &request->ports[i];
		bytes += cost_of(port) * request->addresses.count;
		if (port->protocol == LISTENER_HTTPS && !has_tls(request))
			continue;
		if (lb->listeners.count + request->addresses.count > SHARED_LISTENERS_MAX ||
			bytes > SHARED_BYTES_MAX) {
			if (port->holder != NULL)
				diag_add(diags, &port->holder->self, "TooManyPorts", NULL,
					"port %llu is not opened: the load balancer has too many "
					"already",
					(unsigned long long)port->port);
			continue;
		}
		struct listener listener = port_listener(request, port, arena);
		for (size_t k = 0; k < request->addresses.count; k++) {
			listener.address = request->addresses.items[k];
			lb->listeners.items[lb->listeners.count++] = listener;
		}
	}
}

void shared_build(const struct shared_request *request, struct arena *arena,
	struct load_balancer *ret_balancer, struct diag_list *diags)
{
	struct load_balancer *lb = ret_balancer;
	size_t most = request->listener_count + request->port_count * request->addresses.count;
	*lb = (struct load_balancer){.key = {.kind = LB_LOAD_BALANCER},
		.name = request->class_name,
		.class_name = request->class_name,
		.default_pool = request->default_pool,
		.forwarding = request->forwarding};
	lb->listeners.items = arena_calloc(arena, most + 1, sizeof(struct listener));
	add_class_listeners(request, lb);
	add_ports(request, arena, lb, diags);
	if (lb->listeners.count > 1)
		qsort(lb->listeners.items, lb->listeners.count, sizeof(struct listener),
			compare_listeners);
}

// SPDX-License-Identifier: Apache-2.0
#include "translator/shared.h"

#include <stdlib.h>

static bool has_tls(const struct shared_request *request)
{
	bool ends = request->https_is_possible &&
		    (request->shows_certificate || !str_is_empty(request->default_certificate));
	return ends || request->passes_through;
}

static struct listener tls_listener(const struct shared_request *request, uint64_t port)
{
	struct listener listener = {.port = port, .protocol = LISTENER_HTTPS};
	bool ends = request->https_is_possible &&
		    (request->shows_certificate || !str_is_empty(request->default_certificate));
	if (ends)
		listener.default_certificate = request->default_certificate;
	else
		listener.protocol = LISTENER_TLS_PASSTHROUGH;
	return listener;
}

static size_t cost_of(const struct shared_port *port)
{
	size_t bytes = 128;
	for (size_t i = 0; port->holder != NULL && i < port->holder->source_ranges.count; i++)
		bytes += port->holder->source_ranges.items[i].len + 3;
	return port->holder != NULL ? bytes + 2 * port->holder->self.name.len + 128 : bytes;
}

static struct listener tcp_listener(const struct shared_port *port, struct arena *arena)
{
	const struct plan *holder = port->holder;
	struct listener listener = {.port = port->port,
		.protocol = LISTENER_TCP,
		.source_ranges = holder->source_ranges,
		.service = arena_printf(arena, "%.*s/%.*s", STR_FMT(holder->self.namespace),
			STR_FMT(holder->self.name))};
	for (size_t i = 0; i < holder->ports.count; i++) {
		if (holder->ports.items[i].port == port->port)
			listener.pool = holder->ports.items[i].pool;
	}
	return listener;
}

static int compare_listeners(const void *left, const void *right)
{
	const struct listener *a = left;
	const struct listener *b = right;
	return (a->port > b->port) - (a->port < b->port);
}

static void add_ports(const struct shared_request *request, struct arena *arena,
	struct load_balancer *lb, struct diag_list *diags)
{
	size_t bytes = 0;
	for (size_t i = 0; i < request->port_count; i++) {
		const struct shared_port *port = &request->ports[i];
		struct listener *place = &lb->listeners.items[lb->listeners.count];
		bytes += cost_of(port);
		if (port->protocol == LISTENER_HTTPS && !has_tls(request))
			continue;
		if (lb->listeners.count >= SHARED_LISTENERS_MAX || bytes > SHARED_BYTES_MAX) {
			if (port->holder != NULL)
				diag_add(diags, &port->holder->self, "TooManyPorts", NULL,
					"port %llu is not opened: the load balancer has too many "
					"already",
					(unsigned long long)port->port);
			continue;
		}
		if (port->protocol == LISTENER_TCP)
			*place = tcp_listener(port, arena);
		else if (port->protocol == LISTENER_HTTPS)
			*place = tls_listener(request, port->port);
		else
			*place = (struct listener){.port = port->port, .protocol = LISTENER_HTTP};
		lb->listeners.count++;
	}
}

void shared_build(const struct shared_request *request, struct arena *arena,
	struct load_balancer *ret_balancer, struct diag_list *diags)
{
	struct load_balancer *lb = ret_balancer;
	*lb = (struct load_balancer){.key = {.kind = LB_LOAD_BALANCER},
		.name = request->class_name,
		.class_name = request->class_name,
		.default_pool = request->default_pool};
	lb->listeners.items = arena_calloc(arena, request->port_count + 2, sizeof(struct listener));
	lb->listeners.items[lb->listeners.count++] =
		(struct listener){.port = request->http_port, .protocol = LISTENER_HTTP};
	if (has_tls(request))
		lb->listeners.items[lb->listeners.count++] =
			tls_listener(request, request->https_port);
	add_ports(request, arena, lb, diags);
	qsort(lb->listeners.items, lb->listeners.count, sizeof(struct listener), compare_listeners);
}

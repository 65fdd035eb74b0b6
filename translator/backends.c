// SPDX-License-Identifier: Apache-2.0
#include "translator/backends.h"

#include "translator/diag.h"
#include "translator/dialects/foreign_hosts.h"
#include "translator/hosts.h"
#include "translator/keys.h"
#include "translator/route_settings.h"

#include <stdarg.h>
#include <stdio.h>

enum { SHOWN_PORTS_MAX = 8 };
#define NAME_PREFIX "name:"

/* The port of a plan. */
struct port_wish {
	struct str name; /* either name or number */
	uint64_t number;
	bool is_first; /* or the first of all */
	enum ip_protocol protocol;
};

static bool is_udp(struct str port)
{
	return str_starts_with(port, STR(KEY_UDP));
}

/* Without the settings that make it a pool of its own, see plan.h. */
static struct str port_as_written(struct str port)
{
	if (key_is_passed(port))
		port = str_skip(port, sizeof(KEY_TCP) - 1);
	const char *settings = str_find(port, '+');
	if (settings != NULL)
		port.len = (size_t)(settings - port.p);
	return port;
}

/* For messages. */
static struct str shown_port(struct str port)
{
	port = port_as_written(port);
	return str_eq(port, STR(ROUTE_FIRST_PORT)) ? STR("first") : port;
}

static struct port_wish read_wish(struct str port)
{
	int64_t number = 0;
	struct port_wish wish = {.protocol = is_udp(port) ? PROTOCOL_UDP : PROTOCOL_TCP};
	port = port_as_written(port);
	if (str_eq(port, STR(ROUTE_FIRST_PORT)))
		wish.is_first = true;
	else if (str_starts_with(port, STR(NAME_PREFIX)))
		wish.name = str_skip(port, sizeof(NAME_PREFIX) - 1);
	else if (str_to_int(port, 1, 65535, &number))
		wish.number = (uint64_t)number;
	else
		wish.name = port;
	return wish;
}

static bool is_wished(const struct service_port *port, const struct port_wish *wish)
{
	if (wish->is_first)
		return true;
	return wish->number != 0 ? port->port == wish->number : str_eq(port->name, wish->name);
}

/* Of several ports with the same number, the one of its protocol. */
static const struct service_port *find_port(
	const struct service_record *service, const struct port_wish *wish)
{
	const struct service_port *found = NULL;
	for (size_t i = 0; i < service->ports.count; i++) {
		const struct service_port *port = &service->ports.items[i];
		if (is_wished(port, wish) && (found == NULL || port->protocol == wish->protocol)) {
			found = port;
			if (port->protocol == wish->protocol)
				break;
		}
	}
	return found;
}

/* Kubernetes has no word for this protocol: gRPC over TLS. */
#define GRPCS "sluice.io/grpcs"

static void set_protocol(struct pool *pool, struct str app_protocol)
{
	static struct pool_tls http2 = {.http2 = true};
	pool->protocol = POOL_HTTP;
	pool->tls = NULL;
	if (str_eq_c(app_protocol, "kubernetes.io/h2c"))
		pool->protocol = POOL_H2C;
	else if (str_eq_c(app_protocol, "https") || str_eq_c(app_protocol, "kubernetes.io/wss") ||
		 str_eq_c(app_protocol, GRPCS))
		pool->protocol = POOL_HTTPS;
	if (str_eq_c(app_protocol, GRPCS))
		pool->tls = &http2;
}

[[gnu::format(printf, 4, 5)]] static void set_problem(struct backend_problem *problem,
	struct arena *arena, const char *reason, const char *format, ...)
{
	char text[DIAG_MESSAGE_MAX_LEN];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	*problem = (struct backend_problem){reason, arena_str(arena, str_from(text))};
}

static struct str list_ports(const struct service_record *service, struct arena *arena)
{
	struct str text = STR("none");
	for (size_t i = 0; i < service->ports.count && i < SHOWN_PORTS_MAX; i++) {
		const struct service_port *port = &service->ports.items[i];
		const char *name = str_is_empty(port->name) ? "" : diag_quote(arena, port->name);
		text = arena_printf(arena, "%.*s%s%llu%s%s", i == 0 ? 0 : (int)text.len, text.p,
			i == 0 ? "" : ", ", (unsigned long long)port->port,
			name[0] != '\0' ? " " : "", name);
	}
	if (service->ports.count > SHOWN_PORTS_MAX)
		text = arena_printf(arena, "%.*s, ...", STR_FMT(text));
	return text;
}

/* ---- ExternalName ---- */

static const char *check_external(const struct backend_request *request, struct str name)
{
	enum host_match match = HOST_ANY;
	if (!request->allow_external_name)
		return "Services of type ExternalName are not allowed here";
	const char *problem = host_check(name, &match);
	if (problem != NULL)
		return problem;
	if (match != HOST_EXACT)
		return "it is no host name";
	/* It would give access to what listens only locally. */
	return foreign_host_is_local(name) ? "it means the load balancer itself" : NULL;
}

static void build_external(const struct backend_request *request, const struct service_port *port,
	const struct port_wish *wish, struct arena *arena, struct pool *pool,
	struct backend_problem *problem)
{
	struct str name = host_lower(arena, request->record->external_name);
	if (str_ends_with(name, STR(".")))
		name.len--;
	const char *refusal = check_external(request, name);
	if (refusal != NULL) {
		set_problem(problem, arena, "ExternalNameRefused",
			"Service %.*s leads to %s, which is refused, requests for it are answered "
			"with 503: %s",
			STR_FMT(request->service), diag_quote(arena, name), refusal);
		return;
	}
	pool->external_name = name;
	/* An ExternalName Service need not list ports. */
	pool->port = port != NULL ? port->port : wish->number;
	pool->target_port =
		port != NULL && port->target_number != 0 ? port->target_number : pool->port;
	if (pool->target_port == 0)
		set_problem(problem, arena, "ServicePortNotFound", "Service %.*s has no port %s",
			STR_FMT(request->service), diag_quote(arena, shown_port(request->port)));
}

/* ---- result ---- */

static bool has_active(const struct pool *pool)
{
	for (size_t i = 0; i < pool->endpoints.count; i++) {
		if (pool->endpoints.items[i].active)
			return true;
	}
	return false;
}

static void check_endpoints(const struct backend_request *request, const struct pool *pool,
	struct arena *arena, struct backend_problem *problem)
{
	if (has_active(pool))
		return;
	bool is_empty = pool->endpoints.count == 0;
	set_problem(problem, arena, is_empty ? "NoEndpoints" : "NoReadyEndpoints",
		is_empty ? "Service %.*s has no endpoint for its port %s, requests for it are "
			   "answered with 503"
			 : "no endpoint of Service %.*s is ready for its port %s, requests for it "
			   "are answered with 503",
		STR_FMT(request->service), diag_quote(arena, shown_port(request->port)));
}

static void tell_refused(const struct backend_request *request,
	const struct endpoints_summary *summary, const struct pool *pool, struct arena *arena,
	struct backend_problem *problem)
{
	set_problem(problem, arena, "EndpointRefused",
		"endpoint %.*s%s of Service %.*s is refused: %s; %s", STR_FMT(summary->refused_ip),
		summary->refused_others ? " (and others)" : "", STR_FMT(request->service),
		egress_refusal(request->egress, summary->refused_ip),
		has_active(pool) ? "the others are used" : "requests are answered with 503");
}

static void build_endpoints(const struct backend_request *request, const struct service_port *port,
	struct arena *arena, struct pool *pool, struct backend_problem *problem)
{
	struct endpoints_summary summary;
	endpoints_select(port, request->slices, request->slice_count, request->egress, arena, pool,
		&summary);
	pool->target_port = summary.target_port;
	pool->mixed_target_ports = summary.mixed_target_ports;
	set_protocol(pool,
		!str_is_empty(port->app_protocol) ? port->app_protocol : summary.app_protocol);
	if (!str_is_empty(summary.refused_ip))
		tell_refused(request, &summary, pool, arena, problem);
	else if (summary.left_out != 0)
		set_problem(problem, arena, "TooManyEndpoints",
			"Service %.*s has %zu endpoints more than one pool can take; they are left "
			"out",
			STR_FMT(request->service), summary.left_out);
	else
		check_endpoints(request, pool, arena, problem);
}

/* kube-proxy, or whatever stands in its place, knows the endpoints. */
static void build_cluster_address(const struct backend_request *request,
	const struct service_port *port, struct arena *arena, struct pool *pool,
	struct backend_problem *problem)
{
	struct str address = request->record->cluster_ip;
	struct pool_endpoint *endpoint = arena_alloc(arena, sizeof(*endpoint));
	const char *refusal = egress_refusal(request->egress, address);
	*problem = (struct backend_problem){0};
	*endpoint = (struct pool_endpoint){
		.ip = address, .port = port->port, .ready = true, .serving = true, .active = true};
	pool->endpoints.items = endpoint;
	pool->endpoints.count = refusal == NULL;
	pool->target_port = port->port;
	pool->mixed_target_ports = false;
	if (refusal != NULL)
		set_problem(problem, arena, "EndpointRefused",
			"the cluster address %.*s of Service %.*s is refused: %s; requests are "
			"answered with 503",
			STR_FMT(address), STR_FMT(request->service), refusal);
}

static void build_found(const struct backend_request *request, struct arena *arena,
	struct pool *pool, struct backend_problem *problem)
{
	const struct service_record *service = request->record;
	struct port_wish wish = read_wish(request->port);
	const struct service_port *port = find_port(service, &wish);
	pool->service.uid = service->key.uid;
	pool->has_selector = service->has_selector;
	if (port != NULL) {
		pool->port_name = port->name;
		pool->port = port->port;
		set_protocol(pool, port->app_protocol);
	}
	if (service->type == SERVICE_EXTERNAL_NAME)
		build_external(request, port, &wish, arena, pool, problem);
	else if (port == NULL)
		set_problem(problem, arena, "ServicePortNotFound",
			"Service %.*s has no port %s, requests for it are answered with 503; its "
			"ports: %.*s",
			STR_FMT(request->service), diag_quote(arena, shown_port(request->port)),
			STR_FMT(list_ports(service, arena)));
	else if (port->protocol != wish.protocol)
		set_problem(problem, arena,
			is_udp(request->port) ? "ServicePortNotUDP" : "ServicePortNotTCP",
			"port %s of Service %.*s is not one of %s",
			diag_quote(arena, shown_port(request->port)), STR_FMT(request->service),
			is_udp(request->port) ? "UDP, nothing is answered"
					      : "TCP, requests for it are answered with 503");
	else
		build_endpoints(request, port, arena, pool, problem);
	bool has_endpoints = port != NULL && port->protocol == wish.protocol &&
			     service->type != SERVICE_EXTERNAL_NAME;
	if (request->wants_service && has_endpoints && !str_is_empty(service->cluster_ip))
		build_cluster_address(request, port, arena, pool, problem);
}

static void pass_bytes(const struct backend_request *request, struct pool *pool)
{
	pool->protocol = is_udp(request->port) ? POOL_UDP : POOL_TCP;
	pool->tls = NULL;
	if (request->record != NULL && request->record->client_ip_affinity)
		pool->algorithm = ALGORITHM_SOURCE;
}

void backend_build(const struct backend_request *request, struct arena *arena,
	struct pool *ret_pool, struct backend_problem *ret_problem)
{
	*ret_problem = (struct backend_problem){0};
	*ret_pool = (struct pool){
		.key = {.kind = LB_POOL},
		.service = {.namespace = request->namespace, .name = request->service},
	};
	if (request->is_foreign) {
		ret_pool->external_name = request->service;
		ret_pool->port = ret_pool->target_port = read_wish(request->port).number;
		return;
	}
	if (request->record != NULL) {
		build_found(request, arena, ret_pool, ret_problem);
		if (key_is_passed(request->port))
			pass_bytes(request, ret_pool);
		return;
	}
	if (key_is_passed(request->port))
		pass_bytes(request, ret_pool);
	struct port_wish wish = read_wish(request->port);
	ret_pool->port = wish.number;
	if (!str_is_empty(request->service)) {
		ret_pool->port_name = wish.name;
		set_problem(ret_problem, arena, "ServiceNotFound",
			"there is no Service %.*s, requests for its port %s are answered with 503",
			STR_FMT(request->service), diag_quote(arena, shown_port(request->port)));
	}
}

// SPDX-License-Identifier: Apache-2.0
#include "translator/layer4.h"

#include "translator/dialects/ingress_nginx_streams.h"
#include "translator/keys.h"
#include "translator/tcp_services.h"

#include <arpa/inet.h>
#include <stdlib.h>

struct maker {
	const struct service_record *service;
	const struct plan_context *context;
	struct arena *arena;
	struct diag_list *diags;
	struct plan *plan;
};

bool layer4_is_front(const struct service_record *service)
{
	return service->type == SERVICE_LOAD_BALANCER || service->finalizer;
}

static bool is_ours(const struct service_record *service, const struct source_settings *settings)
{
	if (service->type != SERVICE_LOAD_BALANCER || service->deleting)
		return false;
	if (str_is_empty(service->load_balancer_class))
		return settings->without_load_balancer_class;
	return str_eq(service->load_balancer_class, settings->load_balancer_class);
}

/* ---- networks ---- */

static bool is_network(struct str text)
{
	char copy[64];
	unsigned char address[16];
	int64_t bits = 0;
	const char *slash = str_find(text, '/');
	size_t len = slash != NULL ? (size_t)(slash - text.p) : 0;
	if (len == 0 || len >= sizeof(copy))
		return false;
	memcpy(copy, text.p, len);
	copy[len] = '\0';
	struct str rest = str_skip(text, len + 1);
	if (inet_pton(AF_INET, copy, address) == 1)
		return str_to_int(rest, 0, 32, &bits);
	return inet_pton(AF_INET6, copy, address) == 1 && str_to_int(rest, 0, 128, &bits);
}

/* Clients that cannot be kept out must not be let in. NULL: no problem. */
static const char *check_ranges(const struct maker *m)
{
	const struct str_list *ranges = &m->service->source_ranges;
	if (ranges->count == 0)
		return NULL;
	if (m->context->cannot.source_ranges)
		return "this kind of load balancer cannot keep other addresses out";
	if (ranges->count > LAYER4_RANGES_MAX)
		return arena_printf(
			m->arena, "there are more than %d networks in it", LAYER4_RANGES_MAX)
			.p;
	for (size_t i = 0; i < ranges->count; i++) {
		if (!is_network(ranges->items[i]))
			return arena_printf(m->arena, "%s is no network",
				diag_quote(m->arena, ranges->items[i]))
				.p;
	}
	return NULL;
}

/* ---- ports ---- */

static int compare_ports(const void *left, const void *right)
{
	const struct plan_port *a = left;
	const struct plan_port *b = right;
	if (a->port != b->port)
		return (a->port > b->port) - (a->port < b->port);
	return (a->protocol == LISTENER_UDP) - (b->protocol == LISTENER_UDP);
}

static int compare_pools(const void *left, const void *right)
{
	return str_cmp(((const struct plan_pool *)left)->id, ((const struct plan_pool *)right)->id);
}

/* What of the PROXY protocol a port of the ConfigMap has, see tcp_services.h. */
static bool reads_proxy(const struct maker *m, const struct service_port *port)
{
	return m->plan->self.is_config_map &&
	       (str_eq_c(port->app_protocol, TCP_SERVICES_READS) ||
		       str_eq_c(port->app_protocol, TCP_SERVICES_PASSES));
}

static bool sends_proxy(const struct maker *m, const struct service_port *port)
{
	return m->plan->self.is_config_map &&
	       (str_eq_c(port->app_protocol, TCP_SERVICES_SENDS) ||
		       str_eq_c(port->app_protocol, TCP_SERVICES_PASSES));
}

static const char *check_port(const struct maker *m, const struct service_port *port)
{
	const struct plan_context *context = m->context;
	if ((reads_proxy(m, port) || sends_proxy(m, port)) &&
		(context->cannot.policies & POLICY_PROXY_PROTOCOL) != 0)
		return "this kind of load balancer does not speak the PROXY protocol: leave PROXY "
		       "out, and let what stands in front, and the backend, do without it";
	if (port->protocol == PROTOCOL_UDP)
		return context->cannot.udp ? "this kind of load balancer cannot serve UDP" : NULL;
	if (port->protocol != PROTOCOL_TCP)
		return "SCTP cannot be served";
	if (context->cannot.tcp)
		return "this kind of load balancer cannot serve TCP";
	if (m->plan->scope != BALANCER_OF_CLASS)
		return NULL;
	if (port->port == context->http_port || port->port == context->https_port)
		return "it is that of HTTP or HTTPS for all Ingresses";
	return NULL;
}

static const char *prefix_of(const struct service_port *port)
{
	return port->protocol == PROTOCOL_UDP ? KEY_UDP : KEY_TCP;
}

/* See tcp_services.h. */
static void lead_elsewhere(
	const struct maker *m, const struct service_port *port, struct plan_pool *pool)
{
	const char *slash = str_find(port->name, '/');
	pool->namespace = (struct str){port->name.p, (size_t)(slash - port->name.p)};
	pool->service = str_skip(port->name, pool->namespace.len + 1);
	pool->port = port->target_number != 0 ? arena_printf(m->arena, "%s%llu", prefix_of(port),
							(unsigned long long)port->target_number)
					      : arena_printf(m->arena, "%s%.*s", prefix_of(port),
							STR_FMT(port->target_name));
	if (sends_proxy(m, port))
		pool->port = arena_printf(m->arena, "%.*s" PLAN_SENDS_PROXY, STR_FMT(pool->port));
}

/* When sessions end: as ingress-nginx has it, if that is who the port is from. */
static void set_sessions(const struct maker *m, struct plan_port *wanted)
{
	const struct nginx_options *options = m->context->nginx_options;
	wanted->protocol = LISTENER_UDP;
	if (!m->plan->self.is_config_map)
		return;
	wanted->idle_s = nginx_streams_idle_s(options);
	wanted->responses = nginx_streams_responses(options);
	wanted->one_way = wanted->responses == 0;
}

static void add_port(const struct maker *m, const struct service_port *port)
{
	struct plan *plan = m->plan;
	struct str key =
		arena_printf(m->arena, "%s%llu", prefix_of(port), (unsigned long long)port->port);
	struct plan_pool pool = {
		.namespace = plan->self.namespace, .service = plan->self.name, .port = key};
	if (plan->self.is_config_map)
		lead_elsewhere(m, port, &pool);
	struct str service = key_join(m->arena, pool.namespace, '/', pool.service);
	pool.id = key_join(m->arena, service, ':', pool.port);
	plan->pools.items[plan->pools.count++] = pool;
	struct plan_port *wanted = &plan->ports.items[plan->ports.count++];
	*wanted = (struct plan_port){.port = port->port,
		.protocol = LISTENER_TCP,
		.pool = pool.id,
		.reads_proxy = reads_proxy(m, port)};
	if (port->protocol == PROTOCOL_UDP)
		set_sessions(m, wanted);
}

static const char *field_of(const struct maker *m, const struct service_port *port, size_t index)
{
	if (m->plan->self.is_config_map)
		return arena_printf(m->arena, "data[\"%llu\"]", (unsigned long long)port->port).p;
	return arena_printf(m->arena, "spec.ports[%zu]", index).p;
}

static void read_ports(const struct maker *m)
{
	struct plan *plan = m->plan;
	size_t count = m->service->ports.count;
	plan->ports.items = arena_calloc(m->arena, count, sizeof(struct plan_port));
	plan->pools.items = arena_calloc(m->arena, count, sizeof(struct plan_pool));
	for (size_t i = 0; i < count; i++) {
		const struct service_port *port = &m->service->ports.items[i];
		const char *problem = check_port(m, port);
		if (problem == NULL && plan->ports.count == LAYER4_PORTS_MAX)
			problem = "the Service has too many ports";
		if (problem == NULL)
			add_port(m, port);
		else
			diag_add(m->diags, &plan->self, "PortNotServed", field_of(m, port, i),
				"%sport %llu is not served: %s",
				port->protocol == PROTOCOL_UDP ? PLAN_UDP_WORD : "",
				(unsigned long long)port->port, problem);
	}
	if (plan->self.is_config_map && m->context->nginx_options != NULL) {
		plan->config_maps.items = arena_calloc(m->arena, 1, sizeof(struct str));
		plan->config_maps.items[plan->config_maps.count++] = m->context->nginx_options->map;
	}
	if (plan->ports.count > 1) {
		qsort(plan->ports.items, plan->ports.count, sizeof(struct plan_port),
			compare_ports);
		qsort(plan->pools.items, plan->pools.count, sizeof(struct plan_pool),
			compare_pools);
	}
}

/* ---- result ---- */

static void assign_balancer(const struct maker *m)
{
	struct plan *plan = m->plan;
	plan->class_name = m->context->class.settings->ingress_class;
	if (m->context->grouping == GROUPING_MERGED) {
		plan->scope = BALANCER_OF_CLASS;
		plan->balancer_name = plan->class_name;
		plan->balancer =
			arena_printf(m->arena, PLAN_SHARED "%.*s", STR_FMT(plan->class_name));
		return;
	}
	plan->scope = BALANCER_OF_SERVICE;
	plan->balancer_name = plan->self.name;
	plan->balancer = arena_printf(m->arena, "%.*s/service:%.*s", STR_FMT(plan->self.namespace),
		STR_FMT(plan->self.name));
}

static void serve(const struct maker *m)
{
	struct plan *plan = m->plan;
	const char *problem = check_ranges(m);
	if (problem != NULL) {
		plan->is_refused = true;
		diag_add(m->diags, &plan->self, "SourceRangesRefused",
			"spec.loadBalancerSourceRanges", "the Service is not served: %s", problem);
		return;
	}
	plan->source_ranges = m->service->source_ranges;
	read_ports(m);
	plan->is_refused = plan->ports.count == 0;
}

static bool is_unable(const struct plan_context *context)
{
	return context->cannot.tcp && context->cannot.udp;
}

void layer4_plan(const struct service_record *service, const struct plan_context *context,
	struct arena *arena, struct plan *ret_plan, struct diag_list *diags)
{
	struct maker m = {service, context, arena, diags, ret_plan};
	bool ours = is_ours(service, context->class.settings);
	struct str name = service->key.name;
	bool is_map = tcp_services_is_owner(name, &name);
	*ret_plan = (struct plan){
		.self = {.namespace = service->key.namespace,
			.name = name,
			.uid = service->key.uid,
			.is_service = !is_map,
			.is_config_map = is_map},
		.created = service->created,
		.is_leaving = !ours && service->finalizer,
	};
	if (!ours && (!ret_plan->is_leaving || context->is_released || is_unable(context)))
		return;
	if (is_map && context->grouping != GROUPING_MERGED) {
		diag_add(diags, &ret_plan->self, "NotSupported", NULL,
			"its ports belong to a load balancer that all Ingresses share, and this "
			"kind has none");
		return;
	}
	if (is_unable(context)) {
		diag_add(diags, &ret_plan->self, "NotSupported", "spec.type",
			"this kind of load balancer cannot serve Services of type LoadBalancer");
		return;
	}
	ret_plan->is_ours = true;
	assign_balancer(&m);
	if (ours)
		serve(&m);
}

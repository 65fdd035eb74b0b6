// SPDX-License-Identifier: Apache-2.0
#include "translator/tcp_services.h"

struct reader {
	struct arena *arena;
	struct diag_list *diags;
	struct object_ref self;
	bool is_udp;
	struct service_record *service;
};

static void refuse(const struct reader *r, struct str key, const char *problem)
{
	diag_add(r->diags, &r->self, "PortNotServed",
		arena_printf(r->arena, "data[%s]", diag_quote(r->arena, key)).p,
		"it is not served: %s", problem);
}

static void tell_no_proxy(const struct reader *r, struct str key)
{
	diag_add(r->diags, &r->self, "NotSupported",
		arena_printf(r->arena, "data[%s]", diag_quote(r->arena, key)).p,
		"the PROXY protocol is for TCP: the port is served without it");
}

/* A DNS label, as Kubernetes names Services, namespaces and ports; the latter have a letter. */
static bool is_label(struct str text, bool needs_letter)
{
	bool has_letter = false;
	for (size_t i = 0; i < text.len; i++) {
		char c = text.p[i];
		bool is_letter = c >= 'a' && c <= 'z';
		bool is_end = i == 0 || i + 1 == text.len;
		if (!is_letter && (c < '0' || c > '9') && (c != '-' || is_end))
			return false;
		has_letter |= is_letter;
	}
	return text.len != 0 && text.len <= 63 && (has_letter || !needs_letter);
}

/* NULL: no problem. */
static const char *read_proxy(struct str rest, struct str *ret_word)
{
	struct str reads = str_cut(&rest, ':');
	struct str sends = str_cut(&rest, ':');
	bool has_reads = str_eq_c(reads, "PROXY");
	bool has_sends = str_eq_c(sends, "PROXY");
	if (rest.len != 0 || (reads.len != 0 && !has_reads) || (sends.len != 0 && !has_sends))
		return "behind the port PROXY, ::PROXY or PROXY:PROXY is expected, or nothing";
	*ret_word = has_reads && has_sends ? STR(TCP_SERVICES_PASSES)
		    : has_reads            ? STR(TCP_SERVICES_READS)
		    : has_sends            ? STR(TCP_SERVICES_SENDS)
					   : STR("");
	return NULL;
}

static const char *read_entry(
	const struct reader *r, const struct config_entry *entry, struct service_port *ret_port)
{
	struct str rest = str_trim(entry->value);
	struct str object = str_cut(&rest, ':');
	struct str name = object;
	struct str namespace = str_cut(&name, '/');
	struct str target = str_cut(&rest, ':');
	int64_t port = 0;
	int64_t number = 0;
	if (!str_to_int(entry->key, 1, 65535, &port))
		return "its name has to be a port";
	if (!is_label(namespace, false) || !is_label(name, false) || target.len == 0)
		return "NAMESPACE/SERVICE:PORT is expected";
	struct str proxy = STR("");
	const char *problem = read_proxy(rest, &proxy);
	if (problem != NULL)
		return problem;
	if (r->is_udp && proxy.len != 0)
		tell_no_proxy(r, entry->key);
	*ret_port = (struct service_port){
		.name = arena_printf(r->arena, "%.*s/%.*s", STR_FMT(namespace), STR_FMT(name)),
		.port = (uint64_t)port,
		.protocol = r->is_udp ? PROTOCOL_UDP : PROTOCOL_TCP,
		.app_protocol = r->is_udp ? STR("") : proxy};
	if (str_to_int(target, 1, 65535, &number))
		ret_port->target_number = (uint64_t)number;
	else if (is_label(target, true))
		ret_port->target_name = target;
	else
		return "the number or the name of a port of the Service is expected";
	return NULL;
}

void tcp_services_read(const struct config_map_record *map, enum ip_protocol protocol,
	struct str load_balancer_class, struct arena *arena, struct diag_list *diags,
	struct service_record *ret_service)
{
	const struct reader r = {
		.arena = arena,
		.diags = diags,
		.self = {.namespace = map->key.namespace,
			.name = map->key.name,
			.uid = map->key.uid,
			.is_config_map = true},
		.is_udp = protocol == PROTOCOL_UDP,
		.service = ret_service,
	};
	*ret_service = (struct service_record){
		.key = {.kind = RECORD_SERVICE,
			.namespace = map->key.namespace,
			.name = arena_printf(arena, "%.*s%s", STR_FMT(map->key.name),
				r.is_udp ? TCP_SERVICES_UDP_SUFFIX : TCP_SERVICES_SUFFIX),
			.uid = map->key.uid},
		.type = SERVICE_LOAD_BALANCER,
		.load_balancer_class = load_balancer_class,
	};
	ret_service->ports.items =
		arena_calloc(arena, map->entries.count, sizeof(struct service_port));
	for (size_t i = 0; i < map->entries.count; i++) {
		const struct config_entry *entry = &map->entries.items[i];
		const char *problem =
			read_entry(&r, entry, &ret_service->ports.items[ret_service->ports.count]);
		if (problem == NULL && ret_service->ports.count == TCP_SERVICES_MAX)
			problem = "there are too many ports";
		if (problem != NULL)
			refuse(&r, entry->key, problem);
		else
			ret_service->ports.count++;
	}
}

bool tcp_services_is_owner(struct str name, struct str *ret_map)
{
	_Static_assert(sizeof(TCP_SERVICES_SUFFIX) == sizeof(TCP_SERVICES_UDP_SUFFIX),
		"they are cut off alike");
	if (!str_ends_with(name, STR(TCP_SERVICES_SUFFIX)) &&
		!str_ends_with(name, STR(TCP_SERVICES_UDP_SUFFIX)))
		return false;
	*ret_map = (struct str){name.p, name.len - (sizeof(TCP_SERVICES_SUFFIX) - 1)};
	return true;
}

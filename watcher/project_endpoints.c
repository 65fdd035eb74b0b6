// SPDX-License-Identifier: Apache-2.0
/*
 * EndpointSlice (discovery.k8s.io/v1, v1beta1) and Endpoints (core/v1) as in the Kubernetes API
 * reference.
 *
 * The order of endpoints has no meaning, so addresses and ports are sorted: an object that was only
 * shuffled gives the same record.
 */
#include "watcher/project.h"

#include <arpa/inet.h>
#include <stdlib.h>

static int compare_ports(const void *left, const void *right)
{
	const struct endpoint_port *a = left;
	const struct endpoint_port *b = right;
	int order = str_cmp(a->name, b->name);
	if (order == 0)
		order = (a->port > b->port) - (a->port < b->port);
	return order != 0 ? order : (int)a->protocol - (int)b->protocol;
}

static int compare_addresses(const void *left, const void *right)
{
	const struct endpoint_address *a = left;
	const struct endpoint_address *b = right;
	int order = str_cmp(a->ip, b->ip);
	return order != 0 ? order : str_cmp(a->target_uid, b->target_uid);
}

static bool is_ip(struct str text)
{
	char copy[INET6_ADDRSTRLEN];
	unsigned char bytes[sizeof(struct in6_addr)];
	if (text.len >= sizeof(copy) || str_find(text, '\0') != NULL)
		return false;
	str_put(copy, text);
	copy[text.len] = '\0';
	return inet_pton(AF_INET, copy, bytes) == 1 || inet_pton(AF_INET6, copy, bytes) == 1;
}

static bool set_ip(struct projection *p, struct str text, const struct project_place *place,
	struct endpoint_address *address)
{
	if (text.len == 0 || !is_ip(text))
		return project_refuse(p, place, "is no IP address");
	address->ip = text;
	return true;
}

static bool read_ports(struct projection *p, const struct json *value,
	const struct project_place *outer, struct endpoint_subset *subset)
{
	struct project_place place = {outer, "ports", 0};
	const struct json *list = NULL;
	void *items = NULL;
	if (!project_get_list(
		    p, value, outer, "ports", sizeof(struct endpoint_port), &list, &items))
		return false;
	subset->ports.items = items;
	for (const struct json *json = json_first(list); json != NULL; json = json_next(json)) {
		struct endpoint_port *port = &subset->ports.items[subset->ports.count++];
		place.index = subset->ports.count;
		if (!project_is_map(p, json, &place) ||
			!project_get_text(p, json, &place, "name", &port->name) ||
			!project_get_port(p, json, &place, "port", &port->port) ||
			!project_get_protocol(p, json, &place, &port->protocol) ||
			!project_get_text(p, json, &place, "appProtocol", &port->app_protocol))
			return false;
	}
	if (subset->ports.count > 1)
		qsort(subset->ports.items, subset->ports.count, sizeof(struct endpoint_port),
			compare_ports);
	return true;
}

static void sort_addresses(struct endpoint_subset *subset)
{
	if (subset->addresses.count > 1 && subset->addresses.items != NULL)
		qsort(subset->addresses.items, subset->addresses.count,
			sizeof(struct endpoint_address), compare_addresses);
}

static bool read_target(struct projection *p, const struct json *json,
	const struct project_place *outer, struct endpoint_address *address)
{
	struct project_place place = {outer, "targetRef", 0};
	const struct json *target = NULL;
	return project_get_map(p, json, outer, "targetRef", &target) &&
	       project_get_text(p, target, &place, "uid", &address->target_uid) &&
	       project_get_text(p, json, outer, "nodeName", &address->node);
}

/* ---- EndpointSlice ---- */

/* Defaults of absent conditions: an endpoint is ready, and it serves if it is ready. */
static bool read_conditions(struct projection *p, const struct json *json,
	const struct project_place *outer, struct endpoint_address *address)
{
	struct project_place place = {outer, "conditions", 0};
	const struct json *conditions = NULL;
	if (!project_get_map(p, json, outer, "conditions", &conditions))
		return false;
	if (!json_get_bool(conditions, "ready", true, &address->ready) ||
		!json_get_bool(conditions, "serving", address->ready, &address->serving) ||
		!json_get_bool(conditions, "terminating", false, &address->terminating))
		return project_refuse(p, &place, "must be true or false each");
	return true;
}

/* v1beta1 gives zone and node as labels of the node. */
static bool read_topology(struct projection *p, const struct json *json,
	const struct project_place *outer, struct endpoint_address *address)
{
	struct project_place place = {outer, "topology", 0};
	const struct json *topology = NULL;
	if (!project_get_map(p, json, outer, "topology", &topology))
		return false;
	if (address->node.len == 0 &&
		!project_get_text(p, topology, &place, "kubernetes.io/hostname", &address->node))
		return false;
	return project_get_text(p, topology, &place, "topology.kubernetes.io/zone", &address->zone);
}

static bool read_endpoint(struct projection *p, const struct json *json,
	const struct project_place *place, bool has_topology, struct endpoint_subset *subset)
{
	struct project_place in_address = {place, "addresses", 1};
	struct endpoint_address *address = &subset->addresses.items[subset->addresses.count];
	const struct json *list = NULL;
	void *none = NULL;
	if (!project_is_map(p, json, place) || !read_conditions(p, json, place, address) ||
		!read_target(p, json, place, address) ||
		!project_get_list(p, json, place, "addresses", 0, &list, &none))
		return false;
	if (has_topology ? !read_topology(p, json, place, address)
			 : !project_get_text(p, json, place, "zone", &address->zone))
		return false;
	/* Only the first address has a meaning; an endpoint without any cannot be reached. */
	const struct json *first = json_first(list);
	if (first == NULL)
		return true;
	if (!set_ip(p, json_text(first), &in_address, address))
		return false;
	subset->addresses.count++;
	return true;
}

static bool project_slice(struct projection *p, const struct json *object,
	const struct project_meta *meta, bool has_topology, struct endpoints_record *record)
{
	struct project_place place = {NULL, "endpoints", 0};
	struct endpoint_subset *subset = arena_alloc(p->arena, sizeof(*subset));
	const struct json *list = NULL;
	struct str type;
	void *items = NULL;
	*record = (struct endpoints_record){.created = meta->created};
	project_set_key(&record->key, RECORD_ENDPOINTS, meta);
	record->subsets.items = subset;
	record->subsets.count = 1;
	record->service = json_text(json_get(meta->labels, "kubernetes.io/service-name"));
	if (!project_get_text(p, object, NULL, "addressType", &type) ||
		!read_ports(p, object, NULL, subset) ||
		!project_get_list(p, object, NULL, "endpoints", sizeof(struct endpoint_address),
			&list, &items))
		return false;
	/* Host names as endpoints are deprecated, and no provider supports them. */
	if (str_eq_c(type, "FQDN"))
		return true;
	subset->addresses.items = items;
	for (const struct json *json = json_first(list); json != NULL; json = json_next(json)) {
		place.index++;
		if (!read_endpoint(p, json, &place, has_topology, subset))
			return false;
	}
	sort_addresses(subset);
	return true;
}

bool project_endpoint_slice_v1(struct projection *p, const struct json *object,
	const struct project_meta *meta, void *ret_record)
{
	return project_slice(p, object, meta, false, ret_record);
}

bool project_endpoint_slice_v1beta1(struct projection *p, const struct json *object,
	const struct project_meta *meta, void *ret_record)
{
	return project_slice(p, object, meta, true, ret_record);
}

/* ---- Endpoints ---- */

static bool read_addresses(struct projection *p, const struct json *json,
	const struct project_place *outer, const char *name, bool ready,
	struct endpoint_subset *subset)
{
	struct project_place place = {outer, name, 0};
	for (json = json_first(json_get(json, name)); json != NULL; json = json_next(json)) {
		struct endpoint_address *address =
			&subset->addresses.items[subset->addresses.count++];
		struct project_place in_ip = {&place, "ip", 0};
		struct str ip;
		place.index++;
		address->ready = address->serving = ready;
		if (!project_is_map(p, json, &place) || !read_target(p, json, &place, address) ||
			!project_get_text(p, json, &place, "ip", &ip) ||
			!set_ip(p, ip, &in_ip, address))
			return false;
	}
	return true;
}

static bool read_subset(struct projection *p, const struct json *json,
	const struct project_place *place, struct endpoint_subset *subset)
{
	const struct json *ready = NULL;
	const struct json *not_ready = NULL;
	void *none = NULL;
	if (!project_is_map(p, json, place) || !read_ports(p, json, place, subset) ||
		!project_get_list(p, json, place, "addresses", 0, &ready, &none) ||
		!project_get_list(p, json, place, "notReadyAddresses", 0, &not_ready, &none))
		return false;
	size_t count = json_count(ready) + json_count(not_ready);
	subset->addresses.items =
		count != 0 ? arena_calloc(p->arena, count, sizeof(struct endpoint_address)) : NULL;
	if (!read_addresses(p, json, place, "addresses", true, subset) ||
		!read_addresses(p, json, place, "notReadyAddresses", false, subset))
		return false;
	sort_addresses(subset);
	return true;
}

bool project_endpoints(struct projection *p, const struct json *object,
	const struct project_meta *meta, void *ret_record)
{
	struct project_place place = {NULL, "subsets", 0};
	struct endpoints_record *record = ret_record;
	const struct json *list = NULL;
	void *items = NULL;
	*record = (struct endpoints_record){.created = meta->created, .service = meta->name};
	project_set_key(&record->key, RECORD_ENDPOINTS, meta);
	if (!project_get_list(
		    p, object, NULL, "subsets", sizeof(struct endpoint_subset), &list, &items))
		return false;
	record->subsets.items = items;
	for (const struct json *json = json_first(list); json != NULL; json = json_next(json)) {
		place.index++;
		if (!read_subset(p, json, &place, &record->subsets.items[record->subsets.count++]))
			return false;
	}
	return true;
}

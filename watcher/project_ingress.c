// SPDX-License-Identifier: Apache-2.0
/* Ingress and IngressClass (Kubernetes API reference, networking.k8s.io/v1,
 * networking.k8s.io/v1beta1, extensions/v1beta1). */
#include "watcher/project.h"

#include <stdlib.h>

/* The versions differ in how they write a backend, and in nothing else that matters here. */
struct ingress_dialect {
	const char *default_backend; /* member of spec */
	bool (*read_backend)(struct projection *p, const struct json *json,
		const struct project_place *place, struct ingress_backend *backend);
};

/* ---- annotations ---- */

/* What tools keep there for themselves: long, and changing without a meaning for anybody else. */
static bool is_of_a_tool(struct str key)
{
	return str_starts_with(key, STR("kubectl.kubernetes.io/")) ||
	       str_starts_with(key, STR("field.cattle.io/"));
}

static int compare_annotations(const void *a, const void *b)
{
	return str_cmp(((const struct annotation *)a)->key, ((const struct annotation *)b)->key);
}

static bool read_annotations(
	struct projection *p, const struct project_meta *meta, struct ingress_record *record)
{
	static const struct project_place metadata = {NULL, "metadata", 0};
	static const struct project_place place = {&metadata, "annotations", 0};
	size_t count = json_count(meta->annotations);
	if (count == 0)
		return true;
	struct annotation *items = arena_calloc(p->arena, count, sizeof(*items));
	const struct json *child = json_first(meta->annotations);
	size_t kept = 0;
	for (; child != NULL; child = json_next(child)) {
		struct str key = json_name(child);
		if (is_of_a_tool(key))
			continue;
		if (!json_is_string(child) && !json_is_absent(child))
			return project_refuse(p, &place, "values must be text");
		items[kept++] = (struct annotation){key, json_text(child)};
	}
	qsort(items, kept, sizeof(*items), compare_annotations);
	record->annotations.items = items;
	record->annotations.count = kept;
	return true;
}

/* ---- backends ---- */

static bool read_resource(struct projection *p, const struct json *json,
	const struct project_place *outer, struct ingress_backend *backend)
{
	struct project_place place = {outer, "resource", 0};
	const struct json *resource = NULL;
	struct str group;
	struct str kind;
	struct str name;
	if (!project_get_map(p, json, outer, "resource", &resource))
		return false;
	if (resource == NULL || json_is_absent(resource))
		return true;
	if (!project_get_text(p, resource, &place, "apiGroup", &group) ||
		!project_get_text(p, resource, &place, "kind", &kind) ||
		!project_get_text(p, resource, &place, "name", &name))
		return false;
	backend->resource = arena_printf(p->arena, "%.*s%s%.*s %.*s", STR_FMT(group),
		group.len != 0 ? "/" : "", STR_FMT(kind), STR_FMT(name));
	return true;
}

static bool read_backend_v1(struct projection *p, const struct json *json,
	const struct project_place *place, struct ingress_backend *backend)
{
	struct project_place in_service = {place, "service", 0};
	struct project_place in_port = {&in_service, "port", 0};
	const struct json *service = NULL;
	const struct json *port = NULL;
	return project_is_map(p, json, place) && read_resource(p, json, place, backend) &&
	       project_get_map(p, json, place, "service", &service) &&
	       project_get_text(p, service, &in_service, "name", &backend->service) &&
	       project_get_map(p, service, &in_service, "port", &port) &&
	       project_get_text(p, port, &in_port, "name", &backend->port_name) &&
	       project_get_port(p, port, &in_port, "number", &backend->port_number);
}

static bool read_backend_v1beta1(struct projection *p, const struct json *json,
	const struct project_place *place, struct ingress_backend *backend)
{
	return project_is_map(p, json, place) && read_resource(p, json, place, backend) &&
	       project_get_text(p, json, place, "serviceName", &backend->service) &&
	       project_get_port_or_text(
		       p, json, place, "servicePort", &backend->port_number, &backend->port_name);
}

static const struct ingress_dialect v1 = {"defaultBackend", read_backend_v1};
static const struct ingress_dialect v1beta1 = {"backend", read_backend_v1beta1};

/* ---- rules ---- */

static bool read_path_type(struct projection *p, const struct json *json,
	const struct project_place *outer, enum path_type *ret_type)
{
	struct str word;
	if (!project_get_text(p, json, outer, "pathType", &word))
		return false;
	if (word.len == 0 || str_eq_c(word, "ImplementationSpecific"))
		*ret_type = PATH_IMPLEMENTATION_SPECIFIC;
	else if (str_eq_c(word, "Prefix"))
		*ret_type = PATH_PREFIX;
	else if (str_eq_c(word, "Exact"))
		*ret_type = PATH_EXACT;
	else
		return project_refuse(p, &(struct project_place){outer, "pathType", 0},
			"must be Exact, Prefix or ImplementationSpecific");
	return true;
}

static bool read_paths(struct projection *p, const struct ingress_dialect *dialect,
	const struct json *http, const struct project_place *outer, struct ingress_rule *rule)
{
	struct project_place place = {outer, "paths", 0};
	struct project_place in_backend = {&place, "backend", 0};
	const struct json *list = NULL;
	void *items = NULL;
	if (!project_get_list(p, http, outer, "paths", sizeof(struct ingress_path), &list, &items))
		return false;
	rule->paths.items = items;
	for (const struct json *json = json_first(list); json != NULL; json = json_next(json)) {
		struct ingress_path *path = &rule->paths.items[rule->paths.count++];
		place.index = rule->paths.count;
		if (!project_is_map(p, json, &place) ||
			!project_get_text(p, json, &place, "path", &path->path) ||
			!read_path_type(p, json, &place, &path->type) ||
			!dialect->read_backend(
				p, json_get(json, "backend"), &in_backend, &path->backend))
			return false;
	}
	return true;
}

static bool read_rules(struct projection *p, const struct ingress_dialect *dialect,
	const struct json *spec, const struct project_place *outer, struct ingress_record *record)
{
	struct project_place place = {outer, "rules", 0};
	struct project_place in_http = {&place, "http", 0};
	const struct json *list = NULL;
	const struct json *http = NULL;
	void *items = NULL;
	if (!project_get_list(p, spec, outer, "rules", sizeof(struct ingress_rule), &list, &items))
		return false;
	record->rules.items = items;
	for (const struct json *json = json_first(list); json != NULL; json = json_next(json)) {
		struct ingress_rule *rule = &record->rules.items[record->rules.count++];
		place.index = record->rules.count;
		if (!project_is_map(p, json, &place) ||
			!project_get_text(p, json, &place, "host", &rule->host) ||
			!project_get_map(p, json, &place, "http", &http) ||
			!read_paths(p, dialect, http, &in_http, rule))
			return false;
	}
	return true;
}

static bool read_hosts(struct projection *p, const struct json *json,
	const struct project_place *outer, struct str_list *hosts)
{
	struct project_place place = {outer, "hosts", 0};
	const struct json *list = NULL;
	void *items = NULL;
	if (!project_get_list(p, json, outer, "hosts", sizeof(struct str), &list, &items))
		return false;
	hosts->items = items;
	for (const struct json *host = json_first(list); host != NULL; host = json_next(host)) {
		place.index = hosts->count + 1;
		if (!json_is_string(host))
			return project_refuse(p, &place, "must be text");
		hosts->items[hosts->count++] = json_text(host);
	}
	return true;
}

static bool read_tls(struct projection *p, const struct json *spec,
	const struct project_place *outer, struct ingress_record *record)
{
	struct project_place place = {outer, "tls", 0};
	const struct json *list = NULL;
	void *items = NULL;
	if (!project_get_list(p, spec, outer, "tls", sizeof(struct ingress_tls), &list, &items))
		return false;
	record->tls.items = items;
	for (const struct json *json = json_first(list); json != NULL; json = json_next(json)) {
		struct ingress_tls *tls = &record->tls.items[record->tls.count++];
		place.index = record->tls.count;
		if (!project_is_map(p, json, &place) || !read_hosts(p, json, &place, &tls->hosts) ||
			!project_get_text(p, json, &place, "secretName", &tls->secret))
			return false;
	}
	return true;
}

/* ---- the Ingress ---- */

static bool project_ingress(struct projection *p, const struct ingress_dialect *dialect,
	const struct json *object, const struct project_meta *meta, struct ingress_record *record)
{
	static const struct project_place place = {NULL, "spec", 0};
	struct project_place in_default = {&place, dialect->default_backend, 0};
	const struct json *spec = NULL;
	*record = (struct ingress_record){.created = meta->created};
	project_set_key(&record->key, RECORD_INGRESS, meta);
	if (!project_get_map(p, object, NULL, "spec", &spec))
		return false;
	const struct json *backend = json_get(spec, dialect->default_backend);
	if (!json_is_absent(backend)) {
		record->default_backend = arena_alloc(p->arena, sizeof(*record->default_backend));
		if (!dialect->read_backend(p, backend, &in_default, record->default_backend))
			return false;
	}
	return project_get_text(p, spec, &place, "ingressClassName", &record->class_name) &&
	       read_annotations(p, meta, record) && read_rules(p, dialect, spec, &place, record) &&
	       read_tls(p, spec, &place, record);
}

bool project_ingress_v1(struct projection *p, const struct json *object,
	const struct project_meta *meta, void *ret_record)
{
	return project_ingress(p, &v1, object, meta, ret_record);
}

bool project_ingress_v1beta1(struct projection *p, const struct json *object,
	const struct project_meta *meta, void *ret_record)
{
	return project_ingress(p, &v1beta1, object, meta, ret_record);
}

/* ---- its status ---- */

static bool wrote_addresses(const struct json *entry, const char *manager)
{
	return str_eq_c(json_text(json_get(entry, "manager")), manager) &&
	       str_eq_c(json_text(json_get(entry, "subresource")), "status") &&
	       json_path(entry, "fieldsV1", "f:status", "f:loadBalancer", "f:ingress", NULL) !=
		       NULL;
}

static bool is_written_by(const struct json *object, const char *manager)
{
	const struct json *entry = json_first(json_path(object, "metadata", "managedFields", NULL));
	for (; entry != NULL; entry = json_next(entry)) {
		if (wrote_addresses(entry, manager))
			return true;
	}
	return false;
}

static void read_address(
	struct projection *p, const struct json *json, struct project_status *status)
{
	struct address address = {0};
	struct project_error ignored;
	struct projection quiet = {.arena = p->arena, .error = &ignored};
	const struct json *list = NULL;
	void *items = NULL;
	if (!project_get_text(&quiet, json, NULL, "ip", &address.ip) ||
		!project_get_text(&quiet, json, NULL, "hostname", &address.hostname) ||
		!project_get_list(
			&quiet, json, NULL, "ports", sizeof(struct address_port), &list, &items))
		return;
	address.ports.items = items;
	for (const struct json *port = json_first(list); port != NULL; port = json_next(port)) {
		struct address_port *to = &address.ports.items[address.ports.count];
		if (project_get_port(&quiet, port, NULL, "port", &to->port) &&
			project_get_protocol(&quiet, port, NULL, &to->protocol))
			address.ports.count++;
	}
	status->addresses.items[status->addresses.count++] = address;
}

void project_ingress_status(struct projection *p, const struct json *object, const char *manager,
	struct project_status *ret_status)
{
	const struct json *list = json_path(object, "status", "loadBalancer", "ingress", NULL);
	*ret_status = (struct project_status){.is_ours = is_written_by(object, manager)};
	size_t count = json_is_array(list) ? json_count(list) : 0;
	if (count == 0)
		return;
	ret_status->addresses.items = arena_calloc(p->arena, count, sizeof(struct address));
	for (const struct json *json = json_first(list); json != NULL; json = json_next(json))
		read_address(p, json, ret_status);
}

/* ---- IngressClass ---- */

bool project_ingress_class(struct projection *p, const struct json *object,
	const struct project_meta *meta, void *ret_record)
{
	static const struct project_place place = {NULL, "spec", 0};
	struct ingress_class_record *record = ret_record;
	const struct json *spec = NULL;
	*record = (struct ingress_class_record){0};
	project_set_key(&record->key, RECORD_INGRESS_CLASS, meta);
	record->is_default = str_eq_c(json_text(json_get(meta->annotations,
					      "ingressclass.kubernetes.io/is-default-class")),
		"true");
	return project_get_map(p, object, NULL, "spec", &spec) &&
	       project_get_text(p, spec, &place, "controller", &record->controller);
}

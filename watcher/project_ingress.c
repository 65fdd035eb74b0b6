// SPDX-License-Identifier: Apache-2.0
/* Ingress and IngressClass (Kubernetes API reference, networking.k8s.io/v1,
 * networking.k8s.io/v1beta1, extensions/v1beta1). */
#include "watcher/project.h"

/* The versions differ only in how they write a backend. */
struct ingress_dialect {
	const char *default_backend; /* member of spec */
	bool (*read_backend)(struct projection *p, const struct json *json,
		const struct project_place *place, struct ingress_backend *backend);
};

/* ---- annotations ---- */

/* Annotations that tools write for themselves are long, and change without meaning for anybody else. */
static bool is_of_no_tool(struct str key)
{
	return !str_starts_with(key, STR("kubectl.kubernetes.io/")) &&
	       !str_starts_with(key, STR("field.cattle.io/"));
}

static bool is_ours_to_know(struct str key)
{
	return str_starts_with(key, STR("sluice.io/"));
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
		if (!project_is_map(p, json, &place) ||
			!project_get_texts(p, json, &place, "hosts", &tls->hosts) ||
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
	       project_get_annotations(p, meta, is_of_no_tool, &record->annotations.items,
		       &record->annotations.count) &&
	       read_rules(p, dialect, spec, &place, record) && read_tls(p, spec, &place, record);
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

/* ---- IngressClass ---- */

bool project_ingress_class(struct projection *p, const struct json *object,
	const struct project_meta *meta, void *ret_record)
{
	static const struct project_place place = {NULL, "spec", 0};
	struct ingress_class_record *record = ret_record;
	const struct json *spec = NULL;
	*record = (struct ingress_class_record){.created = meta->created};
	project_set_key(&record->key, RECORD_INGRESS_CLASS, meta);
	record->is_default = str_eq_c(json_text(json_get(meta->annotations,
					      "ingressclass.kubernetes.io/is-default-class")),
		"true");
	return project_get_map(p, object, NULL, "spec", &spec) &&
	       project_get_text(p, spec, &place, "controller", &record->controller) &&
	       project_get_annotations(p, meta, is_ours_to_know, &record->annotations.items,
		       &record->annotations.count);
}

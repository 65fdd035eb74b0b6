// SPDX-License-Identifier: Apache-2.0
/* Pods and nodes (Kubernetes API reference, core/v1) as records: what the addresses that Ingresses show depend on, and nothing else. */
#include "watcher/project.h"

static bool is_of_type(const struct json *item, const char *type)
{
	return str_eq_c(json_text(json_get(item, "type")), type);
}

/* status.conditions: the one of that type is "True". */
static bool read_ready(struct projection *p, const struct json *status,
	const struct project_place *outer, bool *ret_ready)
{
	const struct json *list = NULL;
	void *none = NULL;
	*ret_ready = false;
	if (!project_get_list(p, status, outer, "conditions", 0, &list, &none))
		return false;
	for (const struct json *item = json_first(list); item != NULL; item = json_next(item)) {
		if (is_of_type(item, "Ready"))
			*ret_ready = str_eq_c(json_text(json_get(item, "status")), "True");
	}
	return true;
}

bool project_pod(struct projection *p, const struct json *object, const struct project_meta *meta,
	void *ret_record)
{
	static const struct project_place spec_place = {NULL, "spec", 0};
	static const struct project_place status_place = {NULL, "status", 0};
	struct pod_record *record = ret_record;
	const struct json *spec = NULL;
	const struct json *status = NULL;
	bool is_ready = false;
	*record = (struct pod_record){0};
	project_set_key(&record->key, RECORD_POD, meta);
	if (!project_get_map(p, object, NULL, "spec", &spec) ||
		!project_get_map(p, object, NULL, "status", &status) ||
		!project_get_text(p, spec, &spec_place, "nodeName", &record->node) ||
		!project_get_text(p, status, &status_place, "hostIP", &record->host_ip) ||
		!read_ready(p, status, &status_place, &is_ready))
		return false;
	record->ready = is_ready && !meta->deleting;
	return true;
}

bool project_node(struct projection *p, const struct json *object, const struct project_meta *meta,
	void *ret_record)
{
	static const struct project_place place = {NULL, "status", 0};
	struct node_record *record = ret_record;
	const struct json *status = NULL;
	const struct json *list = NULL;
	void *none = NULL;
	*record = (struct node_record){0};
	project_set_key(&record->key, RECORD_NODE, meta);
	if (!project_get_map(p, object, NULL, "status", &status) ||
		!project_get_list(p, status, &place, "addresses", 0, &list, &none))
		return false;
	for (const struct json *item = json_first(list); item != NULL; item = json_next(item)) {
		struct str address = json_text(json_get(item, "address"));
		if (is_of_type(item, "ExternalIP") && record->external_ip.len == 0)
			record->external_ip = address;
		else if (is_of_type(item, "InternalIP") && record->internal_ip.len == 0)
			record->internal_ip = address;
	}
	return true;
}

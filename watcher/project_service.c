// SPDX-License-Identifier: Apache-2.0
/* Service (Kubernetes API reference, core/v1). */
#include "watcher/project.h"
#include "watcher/status_text.h"

/* ---- Service ---- */

static bool read_type(struct projection *p, const struct json *spec,
	const struct project_place *outer, enum service_type *ret_type)
{
	static const struct {
		const char *word;
		enum service_type type;
	} words[] = {
		{"ClusterIP", SERVICE_CLUSTER_IP},
		{"NodePort", SERVICE_NODE_PORT},
		{"LoadBalancer", SERVICE_LOAD_BALANCER},
		{"ExternalName", SERVICE_EXTERNAL_NAME},
	};
	struct str word;
	if (!project_get_text(p, spec, outer, "type", &word))
		return false;
	*ret_type = SERVICE_CLUSTER_IP;
	if (word.len == 0)
		return true;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (str_eq_c(word, words[i].word)) {
			*ret_type = words[i].type;
			return true;
		}
	}
	return project_refuse(
		p, &(struct project_place){outer, "type", 0}, "is no known type of Service");
}

static bool read_port(struct projection *p, const struct json *json,
	const struct project_place *place, struct service_port *port)
{
	if (!project_is_map(p, json, place) ||
		!project_get_text(p, json, place, "name", &port->name) ||
		!project_get_port(p, json, place, "port", &port->port) ||
		!project_get_protocol(p, json, place, &port->protocol) ||
		!project_get_port_or_text(
			p, json, place, "targetPort", &port->target_number, &port->target_name) ||
		!project_get_text(p, json, place, "appProtocol", &port->app_protocol))
		return false;
	/* Absent: the same number. The API server's defaults treat "" and 0 as absent. */
	if (port->target_number == 0 && port->target_name.len == 0)
		port->target_number = port->port;
	return true;
}

static bool read_ports(struct projection *p, const struct json *spec,
	const struct project_place *outer, struct service_record *record)
{
	struct project_place place = {outer, "ports", 0};
	const struct json *list = NULL;
	void *items = NULL;
	if (!project_get_list(p, spec, outer, "ports", sizeof(struct service_port), &list, &items))
		return false;
	record->ports.items = items;
	for (const struct json *json = json_first(list); json != NULL; json = json_next(json)) {
		place.index = record->ports.count + 1;
		if (!read_port(p, json, &place, &record->ports.items[record->ports.count++]))
			return false;
	}
	return true;
}

static bool is_ours_to_know(struct str key)
{
	return str_starts_with(key, STR("sluice.io/"));
}

/* The comma-separated elements of `text`. */
static void split(struct projection *p, struct str text, struct str_list *ret_list)
{
	size_t count = 1;
	for (size_t i = 0; i < text.len; i++)
		count += text.p[i] == ',';
	ret_list->items = arena_calloc(p->arena, count, sizeof(struct str));
	for (ret_list->count = 0; ret_list->count < count; ret_list->count++)
		ret_list->items[ret_list->count] = str_trim(str_cut(&text, ','));
}

/* Before there was a field for source ranges, an annotation held them (k8s.io/cloud-provider, service/helpers,
 * GetLoadBalancerSourceRanges); a Service that relies on it must not be left open. */
static bool read_source_ranges(struct projection *p, const struct json *spec,
	const struct project_place *outer, const struct project_meta *meta, struct str_list *ranges)
{
	if (!project_get_texts(p, spec, outer, "loadBalancerSourceRanges", ranges))
		return false;
	/* Blanks around a network are allowed. */
	for (size_t i = 0; i < ranges->count; i++)
		ranges->items[i] = str_trim(ranges->items[i]);
	struct str old = json_text(json_get(
		meta->annotations, "service.beta.kubernetes.io/load-balancer-source-ranges"));
	if (ranges->count == 0 && str_trim(old).len != 0)
		split(p, old, ranges);
	return true;
}

/* The addresses of a Service that others publish: those of its load balancer, and its externalIPs. */
static bool read_addresses(struct projection *p, const struct json *object, const struct json *spec,
	const struct project_place *outer, struct service_record *record)
{
	struct str_list external;
	struct project_addresses found;
	if (!project_get_texts(p, spec, outer, "externalIPs", &external))
		return false;
	project_addresses(p, object, &found);
	size_t count = found.count + external.count;
	if (count == 0)
		return true;
	struct address *all = arena_calloc(p->arena, count, sizeof(*all));
	for (size_t i = 0; i < found.count; i++)
		all[i] = found.items[i];
	for (size_t i = 0; i < external.count; i++)
		all[found.count + i].ip = external.items[i];
	record->addresses.count =
		status_clean(all, count, p->arena, &record->addresses.items, NULL);
	return true;
}

static bool read_layer_4(struct projection *p, const struct json *object, const struct json *spec,
	const struct project_place *outer, const struct project_meta *meta,
	struct service_record *record)
{
	struct str affinity;
	record->created = meta->created;
	record->deleting = meta->deleting;
	if (!project_get_text(p, spec, outer, "loadBalancerClass", &record->load_balancer_class) ||
		!project_get_text(p, spec, outer, "sessionAffinity", &affinity) ||
		!read_source_ranges(p, spec, outer, meta, &record->source_ranges) ||
		!project_get_annotations(p, meta, is_ours_to_know, &record->annotations.items,
			&record->annotations.count))
		return false;
	bool is_ours = project_is_ours(p, record);
	record->client_ip_affinity = str_eq_c(affinity, "ClientIP");
	record->finalizer = project_has_finalizer(p, object, is_ours);
	return is_ours || read_addresses(p, object, spec, outer, record);
}

bool project_service(struct projection *p, const struct json *object,
	const struct project_meta *meta, void *ret_record)
{
	static const struct project_place place = {NULL, "spec", 0};
	struct service_record *record = ret_record;
	const struct json *spec = NULL;
	const struct json *selector = NULL;
	struct str cluster_ip;
	*record = (struct service_record){0};
	project_set_key(&record->key, RECORD_SERVICE, meta);
	if (!project_get_map(p, object, NULL, "spec", &spec) ||
		!read_type(p, spec, &place, &record->type) ||
		!project_get_text(p, spec, &place, "clusterIP", &cluster_ip) ||
		!project_get_map(p, spec, &place, "selector", &selector) ||
		!project_get_text(p, spec, &place, "externalName", &record->external_name))
		return false;
	record->headless = str_eq_c(cluster_ip, "None");
	if (!record->headless)
		record->cluster_ip = cluster_ip;
	record->has_selector = json_count(selector) != 0;
	return read_ports(p, spec, &place, record) &&
	       read_layer_4(p, object, spec, &place, meta, record);
}

// SPDX-License-Identifier: Apache-2.0
/* The messages between watcher and translator; see messages.c. */
#include "proto/message_rows.h"

const char *const record_kind_words[] = {
	"", "ingress", "ingress-class", "service", "endpoints", "secret", NULL};
static const char *const service_type_words[] = {
	"cluster-ip", "node-port", "load-balancer", "external-name", NULL};

static const struct schema_field record_key_fields[] = {
	WORDS(true, record_key, kind, "kind", record_kind_words, "which kind of object"),
	ROW(STR, record_key, namespace, "namespace", NAMESPACE_MAX_LEN,
		"absent for cluster-scoped kinds"),
	NEED(STR, record_key, name, "name", NAME_MAX_LEN, ""),
	ROW(STR, record_key, uid, "uid", UID_MAX_LEN,
		"of this very object: one that was deleted and made anew has another"),
};
static const struct schema record_key_schema = SCHEMA("record key", record_key, record_key_fields);

static const struct schema_field settings_fields[] = {
	{KEY("kinds"), .type = SCHEMA_LIST_ENUM, .required = true,
		.offset = offsetof(struct source_settings, kinds), .limit = 64,
		.words = record_kind_words,
		.help = "the kinds that will be synced: the state is whole when each has had its "
			"`sync-end`"},
	ROW(STR, source_settings, ingress_class, "ingress_class", NAME_MAX_LEN,
		"the word that the annotation `kubernetes.io/ingress.class` has for us, and the "
		"name of our class"),
	ROW(STR, source_settings, controller_name, "controller_name", NAME_MAX_LEN,
		"`spec.controller` of the IngressClasses that are ours"),
	ROW(BOOL, source_settings, without_class, "without_class", 0,
		"whether Ingresses that name no class are ours"),
	ROW(STR, source_settings, load_balancer_class, "load_balancer_class", NAME_MAX_LEN,
		"the `spec.loadBalancerClass` of Services that are ours"),
	ROW(BOOL, source_settings, without_load_balancer_class, "without_load_balancer_class", 0,
		"whether Services of type LoadBalancer that name no class are ours"),
};
const struct schema settings_schema = SCHEMA("settings", source_settings, settings_fields);

static const struct schema_field sync_mark_fields[] = {
	WORDS(false, sync_mark, kind, "kind", record_kind_words,
		"source link: the kind that begins or ends; absent on the provider link"),
};
const struct schema sync_begin_schema = SCHEMA("sync-begin", sync_mark, sync_mark_fields);
const struct schema sync_end_schema = SCHEMA("sync-end", sync_mark, sync_mark_fields);

static const struct schema_field delete_fields[] = {
	WORDS(true, record_key, kind, "kind", record_kind_words, "which kind of object"),
	ROW(STR, record_key, namespace, "namespace", NAMESPACE_MAX_LEN, "as in the record"),
	NEED(STR, record_key, name, "name", NAME_MAX_LEN, "as in the record"),
	ROW(STR, record_key, uid, "uid", UID_MAX_LEN, "as in the record"),
};
const struct schema delete_schema = SCHEMA("delete", record_key, delete_fields);
const struct schema keep_schema = SCHEMA("keep", record_key, delete_fields);

static const struct schema_field annotation_fields[] = {
	NEED(STR, annotation, key, "key", LABEL_MAX_LEN, ""),
	NEED(STR, annotation, value, "value", ANNOTATION_MAX_LEN, ""),
};
static const struct schema annotation_schema = SCHEMA("annotation", annotation, annotation_fields);

static const struct schema_field backend_fields[] = {
	ROW(STR, ingress_backend, service, "service", NAME_MAX_LEN,
		"name of a Service in the same namespace"),
	ROW(STR, ingress_backend, port_name, "port_name", NAME_MAX_LEN,
		"name of the Service's port, or"),
	ROW(UINT, ingress_backend, port_number, "port_number", PORT_MAX, "its number"),
	ROW(STR, ingress_backend, resource, "resource", TEXT_MAX_LEN,
		"`group/Kind name`, for a backend that is no Service"),
};
static const struct schema backend_schema = SCHEMA("backend", ingress_backend, backend_fields);

static const struct schema_field ingress_path_fields[] = {
	ROW(STR, ingress_path, path, "path", PATH_MAX_LEN, "as written, not yet checked"),
	WORDS(false, ingress_path, type, "type", path_words, ""),
	NESTED(STRUCT, ingress_path, backend, "backend", 0, backend_schema, ""),
};
static const struct schema ingress_path_schema = SCHEMA("path", ingress_path, ingress_path_fields);

static const struct schema_field ingress_rule_fields[] = {
	ROW(STR, ingress_rule, host, "host", HOST_MAX_LEN, "absent: any host"),
	NESTED(LIST, ingress_rule, paths, "paths", ITEMS_MAX, ingress_path_schema,
		"absent: the host goes to the default backend"),
};
static const struct schema ingress_rule_schema = SCHEMA("rule", ingress_rule, ingress_rule_fields);

static const struct schema_field ingress_tls_fields[] = {
	ROW(LIST_STR, ingress_tls, hosts, "hosts", ITEMS_MAX, ""),
	ROW(STR, ingress_tls, secret, "secret", NAME_MAX_LEN,
		"name of a Secret in the same namespace"),
};
static const struct schema ingress_tls_schema = SCHEMA("tls", ingress_tls, ingress_tls_fields);

static const struct schema_field ingress_fields[] = {
	INLINE(ingress_record, key, record_key_schema),
	ROW(UINT, ingress_record, created, "created", SECONDS_MAX, "seconds since 1970"),
	ROW(STR, ingress_record, class_name, "class_name", NAME_MAX_LEN, "`spec.ingressClassName`"),
	NESTED(LIST, ingress_record, annotations, "annotations", ITEMS_MAX, annotation_schema,
		"sorted by key; those of tools (`kubectl.kubernetes.io/...`) are left out"),
	NESTED(POINTER, ingress_record, default_backend, "default_backend", 0, backend_schema, ""),
	NESTED(LIST, ingress_record, rules, "rules", ITEMS_MAX, ingress_rule_schema, "as written"),
	NESTED(LIST, ingress_record, tls, "tls", ITEMS_MAX, ingress_tls_schema, "as written"),
};
static const struct schema ingress_schema = SCHEMA("ingress", ingress_record, ingress_fields);

static const struct schema_field ingress_class_fields[] = {
	INLINE(ingress_class_record, key, record_key_schema),
	ROW(STR, ingress_class_record, controller, "controller", NAME_MAX_LEN, "`spec.controller`"),
	ROW(BOOL, ingress_class_record, is_default, "is_default", 0,
		"marked as the default class of the cluster"),
	ROW(UINT, ingress_class_record, created, "created", SECONDS_MAX, "seconds since 1970"),
	NESTED(LIST, ingress_class_record, annotations, "annotations", ITEMS_MAX, annotation_schema,
		"sorted by key; only `sluice.io/...`"),
};
static const struct schema ingress_class_schema =
	SCHEMA("ingress-class", ingress_class_record, ingress_class_fields);

static const struct schema_field service_port_fields[] = {
	ROW(STR, service_port, name, "name", NAME_MAX_LEN, ""),
	ROW(UINT, service_port, port, "port", PORT_MAX, ""),
	WORDS(false, service_port, protocol, "protocol", ip_protocol_words, ""),
	ROW(UINT, service_port, target_number, "target_number", PORT_MAX,
		"`targetPort` when it is a number, or"),
	ROW(STR, service_port, target_name, "target_name", NAME_MAX_LEN, "when it is a name"),
	ROW(STR, service_port, app_protocol, "app_protocol", NAME_MAX_LEN, ""),
};
static const struct schema service_port_schema =
	SCHEMA("service port", service_port, service_port_fields);

static const struct schema_field service_fields[] = {
	INLINE(service_record, key, record_key_schema),
	WORDS(false, service_record, type, "type", service_type_words, ""),
	ROW(BOOL, service_record, headless, "headless", 0, "`clusterIP: None`"),
	ROW(BOOL, service_record, has_selector, "has_selector", 0,
		"without one the endpoints are made by hand"),
	ROW(STR, service_record, external_name, "external_name", HOST_MAX_LEN, ""),
	NESTED(LIST, service_record, ports, "ports", ITEMS_MAX, service_port_schema, ""),
	ROW(UINT, service_record, created, "created", SECONDS_MAX, "seconds since 1970"),
	ROW(STR, service_record, load_balancer_class, "load_balancer_class", NAME_MAX_LEN,
		"`spec.loadBalancerClass`"),
	ROW(BOOL, service_record, deleting, "deleting", 0,
		"it is being deleted, and goes when nothing holds it any more"),
	ROW(BOOL, service_record, finalizer, "finalizer", 0,
		"our finalizer holds it: it stays until a `status` with `release`"),
	NESTED(LIST, service_record, annotations, "annotations", ITEMS_MAX, annotation_schema,
		"sorted by key; only `sluice.io/...`"),
	NESTED(LIST, service_record, addresses, "addresses", ITEMS_MAX, address_schema,
		"where others publish it, sorted; absent for Services that are ours"),
	ROW(LIST_STR, service_record, source_ranges, "source_ranges", ITEMS_MAX,
		"networks (CIDR) that may connect; absent: everybody"),
	ROW(BOOL, service_record, client_ip_affinity, "client_ip_affinity", 0,
		"`sessionAffinity: ClientIP`"),
};
static const struct schema service_schema = SCHEMA("service", service_record, service_fields);

static const struct schema_field endpoint_port_fields[] = {
	ROW(STR, endpoint_port, name, "name", NAME_MAX_LEN,
		"name of the Service's port; absent: the unnamed one"),
	ROW(UINT, endpoint_port, port, "port", PORT_MAX, "number to connect to; absent: not given"),
	WORDS(false, endpoint_port, protocol, "protocol", ip_protocol_words, ""),
	ROW(STR, endpoint_port, app_protocol, "app_protocol", NAME_MAX_LEN, ""),
};
static const struct schema endpoint_port_schema =
	SCHEMA("endpoint port", endpoint_port, endpoint_port_fields);

static const struct schema_field endpoint_address_fields[] = {
	NEED(STR, endpoint_address, ip, "ip", 64, ""),
	ROW(BOOL, endpoint_address, ready, "ready", 0, ""),
	ROW(BOOL, endpoint_address, serving, "serving", 0, ""),
	ROW(BOOL, endpoint_address, terminating, "terminating", 0, ""),
	ROW(STR, endpoint_address, node, "node", NAME_MAX_LEN, ""),
	ROW(STR, endpoint_address, zone, "zone", NAME_MAX_LEN, ""),
	ROW(STR, endpoint_address, target_uid, "target_uid", UID_MAX_LEN, "of the pod behind it"),
};
static const struct schema endpoint_address_schema =
	SCHEMA("endpoint", endpoint_address, endpoint_address_fields);

static const struct schema_field endpoint_subset_fields[] = {
	NESTED(LIST, endpoint_subset, ports, "ports", ITEMS_MAX, endpoint_port_schema, ""),
	NESTED(LIST, endpoint_subset, addresses, "addresses", ITEMS_MAX, endpoint_address_schema,
		"every address serves every port of the subset"),
};
static const struct schema endpoint_subset_schema =
	SCHEMA("subset", endpoint_subset, endpoint_subset_fields);

static const struct schema_field endpoints_fields[] = {
	INLINE(endpoints_record, key, record_key_schema),
	ROW(STR, endpoints_record, service, "service", NAME_MAX_LEN,
		"name of the Service in the same namespace; absent: belongs to none"),
	ROW(UINT, endpoints_record, created, "created", SECONDS_MAX, "seconds since 1970"),
	NESTED(LIST, endpoints_record, subsets, "subsets", ITEMS_MAX, endpoint_subset_schema,
		"one for an EndpointSlice, any number for core/v1 Endpoints"),
};
static const struct schema endpoints_schema =
	SCHEMA("endpoints", endpoints_record, endpoints_fields);

static const struct schema_field secret_fields[] = {
	INLINE(secret_record, key, record_key_schema),
	ROW(BIN, secret_record, certificate, "certificate", PEM_MAX_LEN,
		"`tls.crt`, not yet checked"),
	ROW(BIN, secret_record, private_key, "private_key", PEM_MAX_LEN,
		"`tls.key`, not yet checked"),
	ROW(BIN, secret_record, ca, "ca", PEM_MAX_LEN, "`ca.crt`, not yet checked"),
};
static const struct schema secret_schema = SCHEMA("secret", secret_record, secret_fields);

static const struct schema_field status_fields[] = {
	INLINE(status_update, key, record_key_schema),
	NESTED(LIST, status_update, addresses, "addresses", ITEMS_MAX, address_schema,
		"all that the object must show, sorted; absent: none"),
	ROW(BOOL, status_update, release, "release", 0,
		"the object is no longer ours: only a status that we wrote is taken away"),
};
const struct schema status_schema = SCHEMA("status", status_update, status_fields);

static const struct schema_field event_fields[] = {
	INLINE(event_note, key, record_key_schema),
	WORDS(false, event_note, type, "type", event_type_words, ""),
	NEED(STR, event_note, reason, "reason", 128, "CamelCase word"),
	NEED(STR, event_note, message, "message", TEXT_MAX_LEN, ""),
	ROW(BOOL, event_note, standing, "standing", 0,
		"the cause was there before the sender started: it is recorded only if it is not "
		"recorded yet"),
};
const struct schema event_schema = SCHEMA("event", event_note, event_fields);

const struct schema *const record_schemas[RECORD_KIND_COUNT] = {
	[RECORD_INGRESS] = &ingress_schema,
	[RECORD_INGRESS_CLASS] = &ingress_class_schema,
	[RECORD_SERVICE] = &service_schema,
	[RECORD_ENDPOINTS] = &endpoints_schema,
	[RECORD_SECRET] = &secret_schema,
};

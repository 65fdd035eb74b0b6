// SPDX-License-Identifier: Apache-2.0
/*
 * One row per member of every message. The third column of each row is the limit (bytes of text,
 * items of a list, greatest number); the help texts are printed into PROTOCOL.md.
 */
#include "proto/messages.h"

#include "proto/model.h"

enum {
	NAME_MAX_LEN = 253, /* Kubernetes object names: RFC 1123 subdomain */
	NAMESPACE_MAX_LEN = 63,
	UID_MAX_LEN = 128,
	HOST_MAX_LEN = 255,
	ID_MAX_LEN = 1024,
	TEXT_MAX_LEN = 4096,      /* messages for people */
	PATH_MAX_LEN = 16 * 1024, /* longer than any server takes a request line */
	LABEL_MAX_LEN = 512,
	ANNOTATION_MAX_LEN = 256 * 1024, /* Kubernetes' limit for all of an object together */
	PEM_MAX_LEN = 1024 * 1024,       /* Kubernetes' limit for a Secret */
	PORT_MAX = 65535,
	ITEMS_MAX = 64 * 1024, /* of any list; the frame limit comes first for long ones */
};
#define SECONDS_MAX UINT64_C(0xffffffffff)
#define COUNT_MAX   UINT64_C(0xffffffff)

#define KEY SCHEMA_KEY
#define ROW(type_, struct_, member_, key_, limit_, help_)                                       \
	{                                                                                       \
		KEY(key_), .type = SCHEMA_##type_, .offset = offsetof(struct struct_, member_), \
			   .limit = (limit_), .help = (help_)                                   \
	}
#define NEED(type_, struct_, member_, key_, limit_, help_)                                 \
	{                                                                                  \
		KEY(key_), .type = SCHEMA_##type_, .required = true,                       \
			   .offset = offsetof(struct struct_, member_), .limit = (limit_), \
			   .help = (help_)                                                 \
	}
#define WORDS(required_, struct_, member_, key_, words_, help_)                            \
	{                                                                                  \
		KEY(key_), .type = SCHEMA_ENUM, .required = (required_),                   \
			   .offset = offsetof(struct struct_, member_), .words = (words_), \
			   .help = (help_)                                                 \
	}
#define NESTED(type_, struct_, member_, key_, limit_, sub_, help_)                              \
	{                                                                                       \
		KEY(key_), .type = SCHEMA_##type_, .offset = offsetof(struct struct_, member_), \
			   .limit = (limit_), .sub = &(sub_), .help = (help_)                   \
	}
#define INLINE(struct_, member_, sub_)                                                             \
	{                                                                                          \
		.type = SCHEMA_INLINE, .offset = offsetof(struct struct_, member_), .sub = &(sub_) \
	}
#define SCHEMA(name_, struct_, fields_)                                               \
	{                                                                             \
		.name = (name_), .size = sizeof(struct struct_), .fields = (fields_), \
		.count = sizeof(fields_) / sizeof((fields_)[0])                       \
	}

/* ---- words ---- */

const char *const record_kind_words[] = {
	"", "ingress", "ingress-class", "service", "endpoints", "secret", NULL};
const char *const lb_kind_words[] = {
	"", "load-balancer", "virtual-host", "pool", "certificate", NULL};
static const char *const role_words[] = {"", "watcher", "translator", "provider", NULL};
static const char *const grouping_words[] = {"per-ingress", "merged", NULL};
static const char *const path_words[] = {"implementation-specific", "prefix", "exact", NULL};
static const char *const service_type_words[] = {
	"cluster-ip", "node-port", "load-balancer", "external-name", NULL};
static const char *const ip_protocol_words[] = {"tcp", "udp", "sctp", NULL};
static const char *const event_type_words[] = {"normal", "warning", NULL};
static const char *const listener_words[] = {"http", "https", "tcp", "tls-passthrough", NULL};
static const char *const stickiness_words[] = {"insert", "rewrite", "prefix", NULL};
static const char *const health_check_words[] = {"tcp", "http", NULL};
static const char *const host_words[] = {"any", "wildcard", "exact", NULL};
static const char *const pool_protocol_words[] = {"http", "https", "h2c", "tcp", NULL};
static const char *const verify_words[] = {"system", "ca", "off", NULL};
static const char *const algorithm_words[] = {"round-robin", "least-connections", "source", NULL};
static const char *const state_words[] = {"pending", "applied", "failed", NULL};

/* ---- both links ---- */

static const struct schema_field capabilities_fields[] = {
	WORDS(true, capabilities, grouping, "grouping", grouping_words,
		"`per-ingress`: one load balancer for each Ingress or group; `merged`: one for all "
		"of a class"),
	ROW(LIST_STR, capabilities, protocols, "protocols", ITEMS_MAX,
		"listener protocols it can serve, words of `listeners[].protocol`"),
	ROW(LIST_STR, capabilities, policies, "policies", ITEMS_MAX,
		"what it can do of what annotations ask for: words of the table below"),
	ROW(LIST_STR, capabilities, features, "features", ITEMS_MAX,
		"anything else, by name: `source-ranges`, `lead`; unknown ones are ignored"),
};
static const struct schema capabilities_schema =
	SCHEMA("capabilities", capabilities, capabilities_fields);

static const struct schema_field hello_fields[] = {
	NEED(UINT, hello, version_min, "version_min", COUNT_MAX,
		"oldest protocol version the sender speaks"),
	NEED(UINT, hello, version_max, "version_max", COUNT_MAX,
		"newest protocol version the sender speaks; the link uses the greatest both speak"),
	WORDS(true, hello, role, "role", role_words, "what the sender is"),
	NEED(STR, hello, name, "name", NAME_MAX_LEN,
		"short name for logs and Events, such as `rancher`"),
	NEED(STR, hello, software, "software", NAME_MAX_LEN, "program and version"),
	NESTED(POINTER, hello, capabilities, "capabilities", 0, capabilities_schema,
		"what a provider can do; required of providers"),
};
const struct schema hello_schema = SCHEMA("hello", hello, hello_fields);

static const struct schema_field lead_fields[] = {
	ROW(UINT, lead, until_ms, "until_ms", UINT64_MAX,
		"milliseconds of the clock `CLOCK_BOOTTIME` up to which this line may act; absent: "
		"another one does"),
};
const struct schema lead_schema = SCHEMA("lead", lead, lead_fields);

static const struct schema_field ping_fields[] = {
	NEED(UINT, ping, seq, "seq", UINT64_MAX, "any number; the pong repeats it"),
};
const struct schema ping_schema = SCHEMA("ping", ping, ping_fields);
const struct schema pong_schema = SCHEMA("pong", ping, ping_fields);

static const struct schema_field bye_fields[] = {
	NEED(STR, bye, reason, "reason", TEXT_MAX_LEN,
		"why the sender closes the link, for the log"),
};
const struct schema bye_schema = SCHEMA("bye", bye, bye_fields);

/* ---- source link ---- */

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

static const struct schema_field address_port_fields[] = {
	NEED(UINT, address_port, port, "port", PORT_MAX, ""),
	WORDS(false, address_port, protocol, "protocol", ip_protocol_words, ""),
};
static const struct schema address_port_schema =
	SCHEMA("address port", address_port, address_port_fields);

static const struct schema_field address_fields[] = {
	ROW(STR, address, ip, "ip", 64, "either this or"),
	ROW(STR, address, hostname, "hostname", HOST_MAX_LEN, "this"),
	NESTED(LIST, address, ports, "ports", ITEMS_MAX, address_port_schema, "sorted"),
};
static const struct schema address_schema = SCHEMA("address", address, address_fields);

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

/* ---- provider link ---- */

static const struct schema_field lb_key_fields[] = {
	/* First, so that the encoder knows where it stands. */
	{KEY("rev"), .type = SCHEMA_REV, .required = true, .offset = offsetof(struct lb_key, rev),
		.help = "digest of the rest of the object: equal exactly when nothing differs, "
			"also after a restart"},
	WORDS(true, lb_key, kind, "kind", lb_kind_words, "which kind of object"),
	NEED(STR, lb_key, id, "id", ID_MAX_LEN, "unique within its kind; opaque"),
};
static const struct schema lb_key_schema = SCHEMA("object key", lb_key, lb_key_fields);

static const struct schema_field object_ref_fields[] = {
	ROW(STR, object_ref, namespace, "namespace", NAMESPACE_MAX_LEN, ""),
	NEED(STR, object_ref, name, "name", NAME_MAX_LEN, ""),
	ROW(STR, object_ref, uid, "uid", UID_MAX_LEN, ""),
	ROW(BOOL, object_ref, is_service, "is_service", 0, "a Service; otherwise an Ingress"),
};
static const struct schema object_ref_schema =
	SCHEMA("object reference", object_ref, object_ref_fields);

static const struct schema_field listener_fields[] = {
	NEED(UINT, listener, port, "port", PORT_MAX, ""),
	WORDS(true, listener, protocol, "protocol", listener_words, ""),
	ROW(LIST_STR, listener, certificates, "certificates", ITEMS_MAX,
		"ids; the server name of the client chooses"),
	ROW(STR, listener, default_certificate, "default_certificate", ID_MAX_LEN,
		"id, for clients whose server name fits none"),
	ROW(STR, listener, pool, "pool", ID_MAX_LEN, "id, for `tcp`: where all connections go"),
	ROW(LIST_STR, listener, source_ranges, "source_ranges", ITEMS_MAX,
		"networks (CIDR) that may connect; absent: everybody; only sent to providers with "
		"the "
		"feature `source-ranges`"),
	ROW(STR, listener, service, "service", 320,
		"`namespace/name` of the Service that wants it, for messages"),
};
static const struct schema listener_schema = SCHEMA("listener", listener, listener_fields);

static const struct schema_field label_fields[] = {
	NEED(STR, label, key, "key", LABEL_MAX_LEN, ""),
	NEED(STR, label, value, "value", TEXT_MAX_LEN, ""),
};
static const struct schema label_schema = SCHEMA("label", label, label_fields);

static const struct schema_field stickiness_fields[] = {
	ROW(STR, stickiness, name, "name", NAME_MAX_LEN, ""),
	ROW(STR, stickiness, cookie, "cookie", NAME_MAX_LEN,
		"name of the cookie; absent: the provider's"),
	ROW(STR, stickiness, domain, "domain", HOST_MAX_LEN, ""),
	WORDS(false, stickiness, mode, "mode", stickiness_words, ""),
	ROW(BOOL, stickiness, indirect, "indirect", 0, "the cookie is hidden from the backend"),
	ROW(BOOL, stickiness, nocache, "nocache", 0,
		"answers that set the cookie are marked as private"),
	ROW(BOOL, stickiness, postonly, "postonly", 0, "the cookie is set on answers to POST only"),
};
static const struct schema stickiness_schema = SCHEMA("stickiness", stickiness, stickiness_fields);

static const struct schema_field health_check_fields[] = {
	NEED(STR, health_check, service, "service", NAME_MAX_LEN,
		"name of the Service whose endpoints are checked, in the load balancer's "
		"namespace"),
	WORDS(false, health_check, type, "type", health_check_words, ""),
	ROW(STR, health_check, path, "path", PATH_MAX_LEN, "for `http`"),
	ROW(UINT, health_check, port, "port", PORT_MAX, "absent: the endpoint's own"),
	ROW(UINT, health_check, interval_ms, "interval_ms", COUNT_MAX,
		"milliseconds; absent: the provider's default"),
	ROW(UINT, health_check, timeout_ms, "timeout_ms", COUNT_MAX, "milliseconds; likewise"),
	ROW(UINT, health_check, rise, "rise", COUNT_MAX, "successes until healthy; likewise"),
	ROW(UINT, health_check, fall, "fall", COUNT_MAX, "failures until unhealthy; likewise"),
};
static const struct schema health_check_schema =
	SCHEMA("health check", health_check, health_check_fields);

static const struct schema_field load_balancer_fields[] = {
	INLINE(load_balancer, key, lb_key_schema),
	ROW(STR, load_balancer, namespace, "namespace", NAMESPACE_MAX_LEN, ""),
	ROW(STR, load_balancer, name, "name", NAME_MAX_LEN, "of the Ingress, or of the group"),
	ROW(BOOL, load_balancer, is_group, "group", 0, "several Ingresses share it by annotation"),
	ROW(STR, load_balancer, class_name, "class", NAME_MAX_LEN, ""),
	NESTED(LIST, load_balancer, owners, "owners", ITEMS_MAX, object_ref_schema,
		"the Ingresses it serves, oldest first, or one Service; absent when it serves a "
		"whole class"),
	ROW(UINT, load_balancer, scale, "scale", 10000,
		"how many instances; absent: the provider's default"),
	NESTED(LIST, load_balancer, listeners, "listeners", ITEMS_MAX, listener_schema,
		"sorted by port; every listener serves every virtual host; none: nothing can be "
		"served now, so it is not made, but one that exists stays"),
	ROW(STR, load_balancer, default_pool, "default_pool", ID_MAX_LEN,
		"id, for requests that no rule takes; absent: 404"),
	NESTED(POINTER, load_balancer, stickiness, "stickiness", 0, stickiness_schema, ""),
	NESTED(LIST, load_balancer, labels, "labels", ITEMS_MAX, label_schema,
		"provider-specific wishes, sorted by key; the provider takes those it deems safe"),
	NESTED(LIST, load_balancer, health_checks, "health_checks", ITEMS_MAX, health_check_schema,
		"sorted by service"),
	ROW(STR, load_balancer, custom_config, "custom_config", ANNOTATION_MAX_LEN,
		"free text for Rancher's own load balancer; to be ignored unless the administrator "
		"allows it"),
	ROW(BOOL, load_balancer, absent, "absent", 0,
		"it must not exist: what exists is taken away, and `applied` says that it is gone"),
	ROW(BOOL, load_balancer, keep, "keep", 0,
		"what it should be is not known: one that exists stays untouched"),
};
static const struct schema load_balancer_schema =
	SCHEMA("load-balancer", load_balancer, load_balancer_fields);

static const struct schema_field path_rule_fields[] = {
	ROW(STR, path_rule, path, "path", PATH_MAX_LEN, "begins with `/`; checked"),
	WORDS(false, path_rule, match, "match", path_words, ""),
	NEED(STR, path_rule, pool, "pool", ID_MAX_LEN, "id"),
	ROW(STR, path_rule, ingress, "ingress", 320,
		"`namespace/name` of the Ingress that wants it, for messages"),
	ROW(BOOL, path_rule, tls_only, "tls_only", 0, "plain HTTP listeners do not know this rule"),
};
static const struct schema path_rule_schema = SCHEMA("path rule", path_rule, path_rule_fields);

static const struct schema_field virtual_host_fields[] = {
	INLINE(virtual_host, key, lb_key_schema),
	NEED(STR, virtual_host, load_balancer, "load_balancer", ID_MAX_LEN, "id"),
	ROW(STR, virtual_host, host, "host", HOST_MAX_LEN,
		"lower case; `*.example.com` for a wildcard of one label; absent: any"),
	WORDS(true, virtual_host, match, "match", host_words, ""),
	NESTED(LIST, virtual_host, rules, "rules", ITEMS_MAX, path_rule_schema,
		"in order of precedence: the first that matches wins"),
	ROW(BOOL, virtual_host, passthrough, "passthrough", 0,
		"TLS connections for this server name go, unopened, to the pool of the only rule"),
};
static const struct schema virtual_host_schema =
	SCHEMA("virtual-host", virtual_host, virtual_host_fields);

static const struct schema_field pool_endpoint_fields[] = {
	NEED(STR, pool_endpoint, ip, "ip", 64, ""),
	NEED(UINT, pool_endpoint, port, "port", PORT_MAX, ""),
	ROW(BOOL, pool_endpoint, active, "active", 0,
		"new requests go here; absent: it only drains"),
	ROW(BOOL, pool_endpoint, ready, "ready", 0, "as Kubernetes says"),
	ROW(BOOL, pool_endpoint, serving, "serving", 0, "likewise"),
	ROW(BOOL, pool_endpoint, terminating, "terminating", 0, "likewise"),
	ROW(STR, pool_endpoint, node, "node", NAME_MAX_LEN, ""),
	ROW(STR, pool_endpoint, zone, "zone", NAME_MAX_LEN, ""),
};
static const struct schema pool_endpoint_schema =
	SCHEMA("pool endpoint", pool_endpoint, pool_endpoint_fields);

static const struct schema_field pool_tls_fields[] = {
	ROW(BOOL, pool_tls, http2, "http2", 0,
		"HTTP/2 is spoken, and offered by ALPN, as gRPC needs; otherwise HTTP/1.1"),
	WORDS(false, pool_tls, verify, "verify", verify_words,
		"who has to have signed the endpoint's certificate: an authority that the "
		"provider's machine trusts, one of `ca`, or nobody"),
	ROW(BIN, pool_tls, ca, "ca", POOL_CA_MAX_LEN, "PEM, checked; for `verify` of `ca`"),
	ROW(STR, pool_tls, server_name, "server_name", HOST_MAX_LEN,
		"the server name to ask for, and, unless `verify` is `off`, the name that the "
		"certificate must be for; absent: the request's host"),
	ROW(BIN, pool_tls, client_chain, "client_chain", POOL_CLIENT_CHAIN_MAX_LEN,
		"PEM, leaf first; checked: the certificate to show to endpoints"),
	ROW(BIN, pool_tls, client_key, "client_key", POOL_CLIENT_KEY_MAX_LEN, "PEM; fits the leaf"),
};
static const struct schema pool_tls_schema = SCHEMA("pool tls", pool_tls, pool_tls_fields);

static const struct schema_field pool_fields[] = {
	INLINE(pool, key, lb_key_schema),
	NESTED(STRUCT, pool, service, "service", 0, object_ref_schema,
		"the Service; its `uid` is absent while it does not exist"),
	ROW(STR, pool, port_name, "port_name", NAME_MAX_LEN, "name of the Service's port"),
	ROW(UINT, pool, port, "port", PORT_MAX,
		"number of the Service's port; absent while not known"),
	ROW(UINT, pool, target_port, "target_port", PORT_MAX,
		"the number that most endpoints listen on; absent while not known"),
	ROW(BOOL, pool, mixed_target_ports, "mixed_target_ports", 0,
		"endpoints listen on different numbers"),
	ROW(BOOL, pool, has_selector, "has_selector", 0, "the Service selects pods"),
	ROW(STR, pool, external_name, "external_name", HOST_MAX_LEN,
		"host name to use instead of endpoints, when the administrator allows it"),
	WORDS(false, pool, protocol, "protocol", pool_protocol_words, "spoken to the endpoints"),
	WORDS(false, pool, algorithm, "algorithm", algorithm_words, ""),
	NESTED(LIST, pool, endpoints, "endpoints", ITEMS_MAX, pool_endpoint_schema,
		"sorted by address and port, without duplicates"),
	NESTED(POINTER, pool, stickiness, "stickiness", 0, stickiness_schema,
		"with grouping `merged`; otherwise the load balancer has it"),
	NESTED(POINTER, pool, health_check, "health_check", 0, health_check_schema,
		"with grouping `merged`; otherwise the load balancer has them"),
	NESTED(POINTER, pool, tls, "tls", 0, pool_tls_schema,
		"for `https`, to providers with the policy `backend-tls`; absent: certificates "
		"are not checked"),
};
static const struct schema pool_schema = SCHEMA("pool", pool, pool_fields);

static const struct schema_field certificate_fields[] = {
	INLINE(certificate, key, lb_key_schema),
	ROW(STR, certificate, namespace, "namespace", NAMESPACE_MAX_LEN, "of the Secret"),
	ROW(STR, certificate, name, "name", NAME_MAX_LEN, "of the Secret"),
	NEED(BIN, certificate, chain, "chain", PEM_MAX_LEN, "PEM, leaf first; checked"),
	NEED(BIN, certificate, private_key, "private_key", PEM_MAX_LEN, "PEM; fits the leaf"),
	ROW(LIST_STR, certificate, names, "names", ITEMS_MAX,
		"DNS names it is good for, lower case, sorted"),
	ROW(UINT, certificate, not_after, "not_after", SECONDS_MAX, "seconds since 1970"),
	ROW(LIST_STR, certificate, hosts, "hosts", ITEMS_MAX,
		"with grouping `merged`: the server names (exact, or `*.example.com`) it is shown "
		"for, "
		"sorted"),
};
static const struct schema certificate_schema =
	SCHEMA("certificate", certificate, certificate_fields);

static const struct schema_field remove_fields[] = {
	WORDS(true, lb_remove, kind, "kind", lb_kind_words, "which kind of object"),
	NEED(STR, lb_remove, id, "id", ID_MAX_LEN, ""),
};
const struct schema remove_schema = SCHEMA("remove", lb_remove, remove_fields);

static const struct schema_field commit_fields[] = {
	NEED(UINT, lb_commit, serial, "serial", UINT64_MAX, "counts up by one on each connection"),
};
const struct schema commit_schema = SCHEMA("commit", lb_commit, commit_fields);

static const struct schema_field notice_fields[] = {
	ROW(STR, lb_notice, ingress, "ingress", 320,
		"`namespace/name`; this and `service` absent: all owners"),
	NEED(STR, lb_notice, reason, "reason", 128, "CamelCase word"),
	NEED(STR, lb_notice, message, "message", TEXT_MAX_LEN, ""),
	ROW(STR, lb_notice, service, "service", 320,
		"`namespace/name`; the Ingresses whose backend it is hear of it, too"),
};
static const struct schema notice_schema = SCHEMA("notice", lb_notice, notice_fields);

static const struct schema_field lb_status_fields[] = {
	NEED(STR, lb_status, id, "id", ID_MAX_LEN, "of the load balancer"),
	{KEY("rev"), .type = SCHEMA_REV, .required = true,
		.offset = offsetof(struct lb_status, rev),
		.help = "revision of the load balancer object that this speaks of"},
	WORDS(true, lb_status, state, "state", state_words, ""),
	ROW(STR, lb_status, message, "message", TEXT_MAX_LEN,
		"what is being waited for, or what failed"),
	ROW(BOOL, lb_status, addresses_known, "addresses_known", 0,
		"`addresses` is true now; otherwise the receiver keeps what it had"),
	NESTED(LIST, lb_status, addresses, "addresses", ITEMS_MAX, address_schema,
		"where traffic enters, sorted, without duplicates"),
	NESTED(LIST, lb_status, notices, "notices", ITEMS_MAX, notice_schema,
		"what owners should know although it works: all that stand now"),
};
const struct schema lb_status_schema = SCHEMA("lb-status", lb_status, lb_status_fields);

static const struct schema_field lb_event_fields[] = {
	NEED(STR, lb_event, id, "id", ID_MAX_LEN, "of the load balancer"),
	NESTED(LIST, lb_event, owners, "owners", ITEMS_MAX, object_ref_schema,
		"Ingresses or Services that hear of it"),
	WORDS(false, lb_event, type, "type", event_type_words, ""),
	NEED(STR, lb_event, reason, "reason", 128, "CamelCase word"),
	NEED(STR, lb_event, message, "message", TEXT_MAX_LEN, ""),
};
const struct schema lb_event_schema = SCHEMA("lb-event", lb_event, lb_event_fields);

const struct schema *const record_schemas[RECORD_KIND_COUNT] = {
	[RECORD_INGRESS] = &ingress_schema,
	[RECORD_INGRESS_CLASS] = &ingress_class_schema,
	[RECORD_SERVICE] = &service_schema,
	[RECORD_ENDPOINTS] = &endpoints_schema,
	[RECORD_SECRET] = &secret_schema,
};

const struct schema *const lb_schemas[LB_KIND_COUNT] = {
	[LB_LOAD_BALANCER] = &load_balancer_schema,
	[LB_VIRTUAL_HOST] = &virtual_host_schema,
	[LB_POOL] = &pool_schema,
	[LB_CERTIFICATE] = &certificate_schema,
};

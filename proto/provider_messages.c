// SPDX-License-Identifier: Apache-2.0
/* The messages between translator and provider; see messages.c. */
#include "proto/message_rows.h"

const char *const lb_kind_words[] = {
	"", "load-balancer", "virtual-host", "pool", "certificate", NULL};
static const char *const listener_words[] = {"http", "https", "tcp", "tls-passthrough", NULL};
static const char *const stickiness_words[] = {"insert", "rewrite", "prefix", NULL};
static const char *const health_check_words[] = {"tcp", "http", NULL};
static const char *const host_words[] = {"any", "wildcard", "exact", NULL};
static const char *const pool_protocol_words[] = {"http", "https", "h2c", "tcp", NULL};
static const char *const verify_words[] = {"system", "ca", "off", NULL};
static const char *const algorithm_words[] = {"round-robin", "least-connections", "source", NULL};
static const char *const state_words[] = {"pending", "applied", "failed", NULL};

static const struct schema_field lb_key_fields[] = {
	/* First, so that the encoder knows its position. */
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
	ROW(STR, listener, address, "address", 64,
		"IP address to bind; absent: where the provider binds by default"),
	ROW(UINT, listener, created, "created", SECONDS_MAX,
		"seconds since 1970, of who wants it: of two listeners that cannot be had at the "
		"same time the older one is served; absent: younger than all"),
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
		"sorted by port, then address; every listener serves every virtual host; none: "
		"nothing can be "
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
		"`namespace/name`; this, `service` and `certificate` absent: all owners"),
	NEED(STR, lb_notice, reason, "reason", 128, "CamelCase word"),
	NEED(STR, lb_notice, message, "message", TEXT_MAX_LEN, ""),
	ROW(STR, lb_notice, service, "service", 320,
		"`namespace/name`; the Ingresses whose backend it is hear of it, too"),
	ROW(STR, lb_notice, certificate, "certificate", ID_MAX_LEN,
		"id of a certificate: the Ingresses that use it hear of it"),
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
		"where traffic enters"),
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

const struct schema *const lb_schemas[LB_KIND_COUNT] = {
	[LB_LOAD_BALANCER] = &load_balancer_schema,
	[LB_VIRTUAL_HOST] = &virtual_host_schema,
	[LB_POOL] = &pool_schema,
	[LB_CERTIFICATE] = &certificate_schema,
};

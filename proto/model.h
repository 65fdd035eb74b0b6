// SPDX-License-Identifier: Apache-2.0
/*
 * The glossary: plain structs of everything that travels between processes. PROTOCOL.md says what
 * each means on the wire; messages.c has one table row per member, from which encoder, decoder,
 * limits and the tables of PROTOCOL.md come.
 *
 * Text is a view (struct str). In a decoded message the views point into the given frame, and lists
 * and nested structs live in the given arena; so a decoded message is valid as long as both are.
 * Absent members are zero.
 */
#pragma once

#include "common/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROTO_VERSION_MIN 1
#define PROTO_VERSION_MAX 1

/* A list member: LIST_OF(struct x) things; things.items[0 .. things.count - 1]. Every list has this
 * layout. */
#define LIST_OF(type)         \
	struct {              \
		type *items;  \
		size_t count; \
	}

struct str_list {
	struct str *items;
	size_t count;
};

/* The same texts in the same order. */
static inline bool str_list_eq(const struct str_list *a, const struct str_list *b)
{
	for (size_t i = 0; a->count == b->count && i < a->count; i++) {
		if (!str_eq(a->items[i], b->items[i]))
			return false;
	}
	return a->count == b->count;
}

/* ---- both links ---- */

enum peer_role { ROLE_NONE, ROLE_WATCHER, ROLE_TRANSLATOR, ROLE_PROVIDER };

/* How a provider wants Ingresses grouped on load balancers. */
enum grouping { GROUPING_PER_INGRESS, GROUPING_MERGED };

struct capabilities {
	enum grouping grouping;
	struct str_list protocols; /* of listeners: http, https, tcp, tls-passthrough */
	struct str_list policies;  /* rule policies that it supports */
	struct str_list features;  /* anything else, by name; unknown ones are ignored */
};

struct hello {
	uint64_t version_min;
	uint64_t version_max;
	enum peer_role role;
	struct str name;                   /* "rancher", "haproxy"; for logs and Events */
	struct str software;               /* "sluice-watcher 0.1.0" */
	struct capabilities *capabilities; /* providers only */
};

struct ping {
	uint64_t seq;
};

/* Which of several replicas acts; see leadership.h. */
struct lead {
	uint64_t until_ms; /* of CLOCK_BOOTTIME; 0: another one leads */
};

struct bye {
	struct str reason;
};

/* ---- source link: watcher to translator ---- */

enum record_kind {
	RECORD_NONE,
	RECORD_INGRESS,
	RECORD_INGRESS_CLASS,
	RECORD_SERVICE,
	RECORD_ENDPOINTS,
	RECORD_SECRET,
	RECORD_KIND_COUNT,
};

/* What every record begins with, whatever its kind. */
struct record_key {
	enum record_kind kind;
	struct str namespace; /* empty for cluster-scoped kinds */
	struct str name;
	struct str uid;
};

struct source_settings {
	LIST_OF(int) kinds; /* enum record_kind: the kinds that will be synced */
	struct str ingress_class;
	struct str controller_name;
	bool without_class;
	struct str load_balancer_class;   /* the spec.loadBalancerClass that is ours */
	bool without_load_balancer_class; /* Services of type LoadBalancer without a class are ours */
};

struct sync_mark {
	enum record_kind kind;
};

struct annotation {
	struct str key;
	struct str value;
};

enum path_type { PATH_IMPLEMENTATION_SPECIFIC, PATH_PREFIX, PATH_EXACT };

struct ingress_backend {
	struct str service;
	struct str port_name; /* either this or port_number */
	uint64_t port_number;
	struct str resource; /* "group/Kind name" of a backend that is no Service */
};

struct ingress_path {
	struct str path;
	enum path_type type;
	struct ingress_backend backend;
};

struct ingress_rule {
	struct str host; /* empty: any */
	LIST_OF(struct ingress_path) paths;
};

struct ingress_tls {
	struct str_list hosts;
	struct str secret;
};

struct ingress_record {
	struct record_key key;
	uint64_t created;      /* seconds since 1970 */
	struct str class_name; /* spec.ingressClassName; .p == NULL: not set */
	LIST_OF(struct annotation) annotations;
	struct ingress_backend *default_backend;
	LIST_OF(struct ingress_rule) rules;
	LIST_OF(struct ingress_tls) tls;
};

struct ingress_class_record {
	struct record_key key;
	struct str controller;
	bool is_default;
	uint64_t created;                       /* seconds since 1970 */
	LIST_OF(struct annotation) annotations; /* those of ours */
};

enum service_type {
	SERVICE_CLUSTER_IP,
	SERVICE_NODE_PORT,
	SERVICE_LOAD_BALANCER,
	SERVICE_EXTERNAL_NAME,
};

enum ip_protocol { PROTOCOL_TCP, PROTOCOL_UDP, PROTOCOL_SCTP };

struct address_port {
	uint64_t port;
	enum ip_protocol protocol;
};

/* Where traffic enters: an IP address or a host name. */
struct address {
	struct str ip;
	struct str hostname;
	LIST_OF(struct address_port) ports;
};

struct service_port {
	struct str name;
	uint64_t port;
	enum ip_protocol protocol;
	uint64_t target_number; /* spec.targetPort as a number; 0 when it is a name */
	struct str target_name;
	struct str app_protocol;
};

struct service_record {
	struct record_key key;
	enum service_type type;
	bool headless;
	bool has_selector;
	struct str external_name;
	LIST_OF(struct service_port) ports;
	uint64_t created; /* seconds since 1970 */
	struct str load_balancer_class;
	bool deleting; /* metadata.deletionTimestamp is set: it is deleted with its last finalizer */
	bool finalizer;                         /* it has our finalizer */
	LIST_OF(struct annotation) annotations; /* those of ours */
	LIST_OF(struct address)
	addresses;                     /* as others publish it; none for Services that are ours */
	struct str_list source_ranges; /* CIDRs that may connect; none: everybody */
	bool client_ip_affinity;
};

struct endpoint_port {
	struct str name; /* the Service port's name; empty for the unnamed one */
	uint64_t port;   /* 0: not given */
	enum ip_protocol protocol;
	struct str app_protocol;
};

struct endpoint_address {
	struct str ip;
	bool ready;
	bool serving;
	bool terminating;
	struct str node;
	struct str zone;
	struct str target_uid;
};

struct endpoint_subset {
	LIST_OF(struct endpoint_port) ports;
	LIST_OF(struct endpoint_address) addresses;
};

/* One EndpointSlice (one subset) or one core/v1 Endpoints (any number of subsets). */
struct endpoints_record {
	struct record_key key;
	struct str service; /* name of the Service, in the same namespace */
	uint64_t created;
	LIST_OF(struct endpoint_subset) subsets;
};

struct secret_record {
	struct record_key key;
	struct str certificate; /* tls.crt, decoded from base64, not yet parsed */
	struct str private_key; /* tls.key, likewise */
	struct str ca;          /* ca.crt, likewise */
};

/* ---- source link: translator to watcher ---- */

struct status_update {
	struct record_key key;
	LIST_OF(struct address) addresses; /* all that the object must show, sorted */
	bool release; /* the object is no longer ours: remove only what we wrote ourselves */
};

enum event_type { EVENT_NORMAL, EVENT_WARNING };

struct event_note {
	struct record_key key;
	enum event_type type;
	struct str reason;
	struct str message;
	bool standing; /* the cause may predate the sender: record it only if nobody has */
};

/* ---- provider link: translator to provider ---- */

enum lb_kind {
	LB_NONE,
	LB_LOAD_BALANCER,
	LB_VIRTUAL_HOST,
	LB_POOL,
	LB_CERTIFICATE,
	LB_KIND_COUNT,
};

/* What every object begins with, whatever its kind. */
struct lb_key {
	enum lb_kind kind;
	struct str id;
	uint64_t rev; /* digest of the rest: equal exactly if nothing differs */
};

struct object_ref {
	struct str namespace;
	struct str name;
	struct str uid;
	bool is_service; /* otherwise an Ingress */
	bool is_class;   /* an IngressClass; not on the wire, where owners are none */
};

enum listener_protocol { LISTENER_HTTP, LISTENER_HTTPS, LISTENER_TCP, LISTENER_TLS_PASSTHROUGH };

struct listener {
	struct str address; /* where it is bound; empty: where the provider binds by default */
	uint64_t port;
	enum listener_protocol protocol;
	struct str_list certificates;   /* ids, chosen by SNI */
	struct str default_certificate; /* id; empty: none */
	struct str pool;                /* id, for tcp: where all connections go */
	struct str_list source_ranges;  /* CIDRs that may connect; none: everybody */
	struct str service; /* "namespace/name" of the Service that wants it, for messages */
	uint64_t created;   /* of its owner, seconds since 1970; 0: younger than all others */
};

struct label {
	struct str key;
	struct str value;
};

enum stickiness_mode { STICKINESS_INSERT, STICKINESS_REWRITE, STICKINESS_PREFIX };

struct stickiness {
	struct str name;
	struct str cookie;
	struct str domain;
	enum stickiness_mode mode;
	bool indirect;
	bool nocache;
	bool postonly;
};

enum health_check_type { HEALTH_CHECK_TCP, HEALTH_CHECK_HTTP };

struct health_check {
	struct str service; /* name, in the namespace of the load balancer */
	enum health_check_type type;
	struct str path;
	uint64_t port; /* 0: the endpoint's own */
	uint64_t interval_ms;
	uint64_t timeout_ms;
	uint64_t rise;
	uint64_t fall;
};

struct load_balancer {
	struct lb_key key;
	struct str namespace;
	struct str name; /* of the Ingress, or of the group */
	bool is_group;
	struct str class_name;
	LIST_OF(struct object_ref) owners; /* Ingresses, oldest first, or one Service */
	uint64_t scale;                    /* 0: the provider's choice */
	LIST_OF(struct listener) listeners;
	struct str default_pool; /* id; empty: none */
	struct stickiness *stickiness;
	LIST_OF(struct label) labels;
	LIST_OF(struct health_check) health_checks;
	struct str custom_config;
	bool absent; /* must not exist: applied means that it was removed */
	bool keep;   /* content unknown: what exists stays untouched */
};

enum host_match { HOST_ANY, HOST_WILDCARD, HOST_EXACT };

struct path_rule {
	struct str path;
	enum path_type match;
	struct str pool;    /* id */
	struct str ingress; /* "namespace/name" of the Ingress that wants it, for messages */
	bool tls_only;      /* not served in plain HTTP */
};

struct virtual_host {
	struct lb_key key;
	struct str load_balancer; /* id */
	struct str host;          /* lower case; "*.example.com" for a wildcard; empty for any */
	enum host_match match;
	LIST_OF(struct path_rule) rules; /* in order of precedence: the first that matches wins */
	bool passthrough;                /* TLS connections are passed through, not terminated */
};

enum pool_protocol { POOL_HTTP, POOL_HTTPS, POOL_H2C, POOL_TCP };

struct pool_endpoint {
	struct str ip;
	uint64_t port;
	bool active; /* new requests go here; otherwise it drains */
	bool ready;
	bool serving;
	bool terminating;
	struct str node;
	struct str zone;
};

/* How the certificate of an endpoint is verified. */
enum tls_verify {
	TLS_VERIFY_SYSTEM, /* the authorities that the provider's machine trusts */
	TLS_VERIFY_CA,     /* those of `ca` */
	TLS_VERIFY_OFF,    /* not at all: its owner says so */
};

/* Limits with which it all fits into one command of HAProxy. */
enum {
	POOL_CA_MAX_LEN = 12 * 1024,
	POOL_CLIENT_CHAIN_MAX_LEN = 8 * 1024,
	POOL_CLIENT_KEY_MAX_LEN = 6 * 1024,
};

/* TLS to the endpoints of a pool. */
struct pool_tls {
	bool http2; /* spoken within, as gRPC needs; otherwise HTTP/1.1 */
	enum tls_verify verify;
	struct str ca;           /* PEM */
	struct str server_name;  /* asked for, and what the certificate must be for */
	struct str client_chain; /* PEM, our client certificate; empty: none */
	struct str client_key;
};

enum pool_algorithm { ALGORITHM_ROUND_ROBIN, ALGORITHM_LEAST_CONNECTIONS, ALGORITHM_SOURCE };

struct pool {
	struct lb_key key;
	struct object_ref service;
	struct str port_name;
	uint64_t port;           /* the Service's */
	uint64_t target_port;    /* the number that most endpoints listen on; 0: unknown */
	bool mixed_target_ports; /* endpoints listen on different numbers */
	bool has_selector;
	struct str external_name; /* instead of endpoints, when allowed */
	enum pool_protocol protocol;
	enum pool_algorithm algorithm;
	LIST_OF(struct pool_endpoint)
	endpoints; /* sorted by address and port, without duplicates */
	/* With merged grouping; otherwise they are in the load balancer. */
	struct stickiness *stickiness;
	struct health_check *health_check;
	struct pool_tls *tls; /* of protocol https */
};

struct certificate {
	struct lb_key key;
	struct str namespace;
	struct str name; /* of the Secret */
	struct str chain;
	struct str private_key;
	struct str_list names; /* DNS names that it is valid for */
	uint64_t not_after;    /* seconds since 1970 */
	struct str_list hosts; /* server names that it is served for, with merged grouping */
};

struct lb_remove {
	enum lb_kind kind;
	struct str id;
};

struct lb_commit {
	uint64_t serial; /* counts up by one on each connection */
};

/* ---- provider link: provider to translator ---- */

enum lb_state { LB_STATE_PENDING, LB_STATE_APPLIED, LB_STATE_FAILED };

/* Something an owner should know although the load balancer works. `ingress`, `service` or `certificate` says whom it concerns;
 * without any, all owners of the load balancer. */
struct lb_notice {
	struct str ingress; /* "namespace/name" */
	struct str reason;
	struct str message;
	struct str service;     /* "namespace/name" */
	struct str certificate; /* id: that of the Ingresses that use it */
};

struct lb_status {
	struct str id;
	uint64_t rev; /* of the load balancer object that this is about */
	enum lb_state state;
	struct str message;
	bool addresses_known; /* otherwise the receiver keeps what it had */
	LIST_OF(struct address) addresses;
	LIST_OF(struct lb_notice) notices; /* all that stand now, not only new ones */
};

/* Something that happened, sent once: an Event on the owners. */
struct lb_event {
	struct str id;
	LIST_OF(struct object_ref) owners;
	enum event_type type;
	struct str reason;
	struct str message;
};

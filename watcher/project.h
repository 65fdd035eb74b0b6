// SPDX-License-Identifier: Apache-2.0
/*
 * JSON of Kubernetes objects to records: one function for each kind and version. Pure. Records of
 * all versions look alike (networking.k8s.io/v1, v1beta1 and extensions/v1beta1 become the same
 * ingress record) and hold only what a translation needs.
 *
 * Every member that is read has its type checked; null and absent are the same. An object that does
 * not fit is refused as a whole, the field is named, and no other object is affected. Lengths are
 * limited by the messages and checked when the record is encoded.
 */
#pragma once

#include "common/arena.h"
#include "common/buf.h"
#include "common/json.h"
#include "proto/model.h"
#include "proto/schema.h"

/* What every object has. */
struct project_meta {
	struct str namespace;
	struct str name;
	struct str uid;
	struct str revision; /* resourceVersion */
	uint64_t created;    /* seconds since 1970; 0: not given */
	bool deleting;       /* deletionTimestamp */
	const struct json *annotations;
	const struct json *labels;
};

struct project_error {
	char text[SCHEMA_ERROR_LEN]; /* "spec.rules[0].host: must be text" */
};

/* The field manager under which we write statuses; managed fields show by it which writes are ours. */
#define PROJECT_MANAGER "sluice"
enum { PROJECT_MANAGER_LEN = 32 };

/* Which Services of type LoadBalancer are ours (Kubernetes API reference, core/v1 ServiceSpec, loadBalancerClass). */
struct project_ours {
	struct str load_balancer_class;
	bool without_class; /* also those without a class */
	/* The field manager for finalizers: one for each class, since several of us may run in a
	 * cluster, each for its own class, and none may release what another holds. */
	char manager[PROJECT_MANAGER_LEN];
};

/* The text is kept. */
void project_ours_init(
	struct project_ours *ours, struct str load_balancer_class, bool without_class);

/* The memory and the error of one projection. Texts in a record point into the JSON or the arena;
 * the decoded data of a Secret is in `secret`, which the caller wipes. */
struct projection {
	struct arena *arena;
	struct buf *secret;
	struct project_error *error;
	const struct project_ours *ours;
};

/* Fills the record that belongs to the function. False: refused, p->error says why. */
typedef bool project_fn(struct projection *p, const struct json *object,
	const struct project_meta *meta, void *ret_record);

project_fn project_ingress_v1;
project_fn project_ingress_v1beta1;
project_fn project_ingress_class;
project_fn project_service;
project_fn project_endpoint_slice_v1;
project_fn project_endpoint_slice_v1beta1;
project_fn project_endpoints;
project_fn project_secret;
project_fn project_config_map;
project_fn project_pod;
project_fn project_node;

/* Name, namespace and so on. False: the error says why; *ret_meta still has what identifies the
 * object, as far as it can be read. Without a name it has nothing. */
bool project_read_meta(
	struct projection *p, const struct json *object, struct project_meta *ret_meta);

/* What is kept beside the record for writing statuses. The texts live in the arena. */
struct project_facts {
	struct str revision;       /* empty: none that can be used */
	struct str status;         /* canonical, see status_text.h; empty: no addresses */
	bool status_is_ours;       /* by its managed fields: PROJECT_MANAGER wrote them */
	struct str status_manager; /* who else wrote them; absent: nobody, or it is not known */
	bool hold_is_known;        /* the next three are known; else what was known before stays */
	bool wants_finalizer;      /* a Service that is ours and not being deleted */
	bool has_finalizer;        /* it has our finalizer */
	struct str finalizers;     /* the others, as the elements of a JSON list */
};

/* The type of Secrets with certificates. */
#define PROJECT_TLS_TYPE "kubernetes.io/tls"

/* Holds a Service until its load balancer is gone. All implementations of Services of type
 * LoadBalancer use this one (k8s.io/cloud-provider, service/helpers); the class tells whose it is. */
#define PROJECT_FINALIZER "service.kubernetes.io/load-balancer-cleanup"

/* Of an Ingress or Service; `record` is NULL when it could not be read. Status entries that make no
 * sense are left out. */
void project_facts(struct projection *p, const struct json *object, const struct project_meta *meta,
	const struct record_key *record, struct project_facts *ret_facts);
/* Whether a Service has our finalizer: on one of our class it can only be ours; on any other it
 * belongs to whoever put it there. */
bool project_has_finalizer(const struct projection *p, const struct json *object, bool is_ours);
bool project_is_ours(const struct projection *p, const struct service_record *service);
/* status.loadBalancer.ingress in any order; entries that make no sense are left out. */
struct project_addresses {
	struct address *items;
	size_t count;
};
void project_addresses(
	struct projection *p, const struct json *object, struct project_addresses *ret_list);
/* Room for any of the records. */
union project_record {
	struct record_key key;
	struct ingress_record ingress;
	struct ingress_class_record ingress_class;
	struct service_record service;
	struct endpoints_record endpoints;
	struct secret_record secret;
	struct config_map_record config_map;
	struct pod_record pod;
	struct node_record node;
};

/* ---- for the projecting functions themselves ---- */

/* A place in the object, for errors: the path is only written out when something is wrong. */
struct project_place {
	const struct project_place *outer;
	const char *key;
	size_t index; /* 1 + index of a list's element; 0: none */
};

/* Always false. */
bool project_refuse(struct projection *p, const struct project_place *place, const char *why);
/* Members of an object by name; absent is the zero value. False: refused. */
bool project_get_text(struct projection *p, const struct json *value,
	const struct project_place *outer, const char *name, struct str *ret_text);
bool project_get_port(struct projection *p, const struct json *value,
	const struct project_place *outer, const char *name, uint64_t *ret_port);
bool project_get_protocol(struct projection *p, const struct json *value,
	const struct project_place *outer, enum ip_protocol *ret_protocol);
/* intstr.IntOrString: a number fills *ret_port, a text *ret_text. */
bool project_get_port_or_text(struct projection *p, const struct json *value,
	const struct project_place *outer, const char *name, uint64_t *ret_port,
	struct str *ret_text);
/* An array (absent: an empty one): its length, and zeroed room in the arena for as many elements of
 * `size` bytes. */
bool project_get_list(struct projection *p, const struct json *value,
	const struct project_place *outer, const char *name, size_t size,
	const struct json **ret_list, void **ret_items);
/* A list of texts. */
bool project_get_texts(struct projection *p, const struct json *value,
	const struct project_place *outer, const char *name, struct str_list *ret_texts);
/* Annotations whose key `is_wanted`, sorted by key. */
bool project_get_annotations(struct projection *p, const struct project_meta *meta,
	bool (*is_wanted)(struct str key), struct annotation **ret_items, size_t *ret_count);
/* Whether it is an object; absent counts as one. */
bool project_is_map(
	struct projection *p, const struct json *value, const struct project_place *place);
bool project_get_map(struct projection *p, const struct json *value,
	const struct project_place *outer, const char *name, const struct json **ret_map);
void project_set_key(
	struct record_key *key, enum record_kind kind, const struct project_meta *meta);

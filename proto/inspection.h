// SPDX-License-Identifier: Apache-2.0
/*
 * What a program serves on its admin server (ADMIN.md): the structs of the responses, and their msgpack encoding. A response is one map, or a series
 * of frames (frame.h) with one map or message each. None contains private keys.
 */
#pragma once

#include "common/arena.h"
#include "proto/model.h"
#include "proto/schema.h"

struct inspection_peer {
	struct str role; /* "watcher", "provider" */
	struct str name;
	struct str software;
	bool is_up;
	uint64_t since;   /* seconds since 1970: when it went up, or down; 0: it was never up */
	uint64_t waiting; /* objects that are still to be sent to it */
};

struct inspection_count {
	struct str what;
	uint64_t count;
};

/* /status */
struct inspection_status {
	struct str program;
	struct str software;
	struct str missing; /* what it waits for; empty: nothing */
	uint64_t started;   /* seconds since 1970 */
	LIST_OF(struct inspection_peer) peers;
	LIST_OF(struct inspection_count) counts;
	struct str trouble; /* error message of a failed load balancer; empty: none */
};

enum { INSPECTION_EXCLUDED_HOSTS_MAX = 64 }; /* of one route */

struct inspection_endpoint {
	struct str address; /* with port */
	struct str state;   /* "ready", "draining", "not ready" */
};

struct inspection_route {
	struct str listener; /* of a Service: "tcp 5432"; it has no host and no path */
	struct str host;     /* empty: any */
	struct str path;
	enum path_type match;
	bool tls_only; /* only requests with TLS take it */
	/* Of a wildcard: names that have a virtual host of their own, to which all their requests go. */
	struct str_list excluded_hosts;
	bool has_more_excluded; /* than those */
	struct str service;     /* namespace/name */
	struct str port;        /* as the Ingress names it */
	LIST_OF(struct inspection_endpoint) endpoints;
	bool is_served;
	struct str reason; /* why it is not; see sluicectl/reasons.def */
	struct str message;
};

struct inspection_problem {
	struct str reason;
	struct str message;
};

struct inspection_tls {
	struct str_list hosts; /* empty: those that the certificate is valid for */
	struct str secret;     /* namespace/name; empty: the default certificate */
};

/* /explain */
struct inspection_explanation {
	struct str kind; /* "Ingress", "Service" */
	struct str namespace;
	struct str name;
	bool is_ours;
	struct str class_name;
	struct str load_balancer; /* id */
	struct str provider;      /* its name; empty: none is connected */
	struct str
		state; /* reported by the provider: "pending", "applied", "failed"; empty: not yet */
	struct str state_message;
	struct str_list addresses;
	struct str_list listeners; /* "https 443" */
	LIST_OF(struct inspection_route) routes;
	LIST_OF(struct inspection_tls) tls;
	LIST_OF(struct inspection_problem)
	problems;           /* of the Ingress as a whole, or of parts that became no route */
	struct str missing; /* the records are incomplete: what is waited for */
};

/* /events */
struct inspection_event {
	uint64_t at; /* seconds since 1970 */
	enum event_type type;
	struct str kind; /* of the object; empty: of the line itself */
	struct str namespace;
	struct str name;
	struct str reason;
	struct str message;
};

extern const struct schema inspection_status_schema;
extern const struct schema inspection_explanation_schema;
extern const struct schema inspection_event_schema;

/* Appends the value as one map. Negative errno: it breaks a limit, and `out` is unchanged. */
[[nodiscard]] int inspection_encode(
	const struct schema *schema, const void *value, struct buf *out);
/* The same as a frame. */
[[nodiscard]] int inspection_encode_frame(
	const struct schema *schema, const void *value, struct buf *out);
/* Texts live in `bytes` or in the arena. -EBADMSG with *ret_error. */
[[nodiscard]] int inspection_decode(const struct schema *schema, struct str bytes,
	struct arena *arena, void *ret_value, struct schema_error *ret_error);

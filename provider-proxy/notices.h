// SPDX-License-Identifier: Apache-2.0
/*
 * What owners should know although their load balancer works: notices, under a key chosen by whoever sets them, so that each is cleared by
 * whoever set it. No I/O.
 */
#pragma once

#include "common/arena.h"
#include "proto/model.h"

enum { NOTICES_MAX = 4096 /* in one status; the rest is counted in the last one */ };

struct notices;

enum notice_owner_kind {
	NOTICE_OWNER_BALANCER = 1, /* all on the load balancer */
	NOTICE_OWNER_INGRESS,
	NOTICE_OWNER_SERVICE,
	NOTICE_OWNER_CERTIFICATE, /* the Ingresses that use it */
};

/* Whose notice it is. Made only by the functions below: every notice has an owner. Texts are views. */
struct notice_owner {
	enum notice_owner_kind kind;
	struct str
		name; /* of the Ingress or Service, as "namespace/name"; id of the certificate or load balancer */
};

struct notice_owner notice_of_balancer(struct str load_balancer_id);
/* The load balancer if the second text, which a translator may leave out, is empty. */
struct notice_owner notice_of_ingress(struct str load_balancer_id, struct str ingress);
struct notice_owner notice_of_service(struct str load_balancer_id, struct str service);
/* The owner of a pool is its Service, and no load balancer in particular. */
struct notice_owner notice_of_pool(const struct pool *pool, struct arena *arena);
struct notice_owner notice_of_certificate(struct str certificate_id);

/* on_change() is called when the set has changed; may be NULL. */
struct notices *notices_new(void (*on_change)(void *ctx), void *ctx);
void notices_free(struct notices *notices);

/* Sets the notice of (topic, key); texts are copied. */
void notices_set(struct notices *notices, const char *topic, struct str key,
	const struct notice_owner *owner, const char *reason, struct str message);
void notices_clear(struct notices *notices, const char *topic, struct str key);
/* Clears all of a topic whose keys begin with the prefix. */
void notices_clear_all(struct notices *notices, const char *topic, struct str key_prefix);
/* Current notices that may concern the load balancer (empty: any), as a list for struct lb_status; the texts live until the next change. */
size_t notices_list(const struct notices *notices, struct str load_balancer_id, struct arena *arena,
	struct lb_notice **ret_notices);

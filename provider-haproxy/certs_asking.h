// SPDX-License-Identifier: Apache-2.0
/*
 * Hosts whose clients are asked for certificates. Each has a file and a line of the list to itself, with the certificate that would be shown for it without that:
 * of its name, of the wildcard above it, or the default one. HAProxy takes any certificate there, and only finds out that the client has the key; whether it is
 * a good one is asked in each request (clients.lua). Part of certs.h, which has the state. No I/O.
 */
#pragma once

#include "common/arena.h"
#include "common/str.h"
#include "common/tree.h"
#include "provider-proxy/pem.h"
#include "proto/model.h"

#include <bsd/sys/queue.h>
#include <stdbool.h>

struct certs;
struct object;

/* A host of a load balancer. */
struct asking {
	RB_ENTRY(asking) node;
	TAILQ_ENTRY(asking) link;
	char *host;
	char *balancer;
	struct pem_name file; /* empty: there is no certificate for it */
	bool is_stale;        /* in the list of those */
};

RB_HEAD(asking_tree, asking);

/* A name for which an object's certificate is shown. */
struct cover {
	RB_ENTRY(cover) node;
	RB_ENTRY(cover) by_object;
	char *host;
	char *id;
};

RB_HEAD(cover_host_tree, cover);
RB_HEAD(cover_object_tree, cover);
TAILQ_HEAD(asking_list, asking);

/* Both have all of them. */
struct cover_tree {
	struct cover_host_tree hosts;
	struct cover_object_tree objects;
};

/* The way up, to certs.c. */
struct asking_ops {
	/* As certs_want() and certs_unwant(). */
	void (*want)(struct certs *certs, const char *file_name, const struct certificate *value,
		uint64_t digest, char *hosts, bool asks);
	void (*unwant)(struct certs *certs, const char *file_name);
	/* Of the names of the object others are asking now. */
	void (*renew)(struct certs *certs, struct object *object);
};

/* `key`: the name of a load balancer, a colon and the host. Cheap when nothing changes. */
void certs_ask(struct certs *certs, struct str key, bool asks);
/* For certs.c. */
void certs_asking_init(struct certs *certs, const struct asking_ops *ops);
/* The file of the host with that key; NULL: it does not ask, or there is no certificate for it. */
const char *certs_asking_file(const struct certs *certs, struct str key);
bool certs_asking_has(const struct certs *certs, struct str host);
/* Without the hosts that ask, which have files of their own. */
void certs_asking_leave_out(
	const struct certs *certs, struct certificate *value, struct arena *arena);
void certs_asking_cover(struct certs *certs, struct str id, const struct str_list *hosts);
void certs_asking_uncover(struct certs *certs, struct str id);
void certs_asking_default(struct certs *certs);
void certs_asking_settle(struct certs *certs);
void certs_asking_fini(struct certs *certs);

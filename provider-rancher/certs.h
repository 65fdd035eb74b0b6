// SPDX-License-Identifier: Apache-2.0
/*
 * Certificates in Rancher: one for each Secret that is wanted, named by namespace and Secret, marked as ours
 * with a digest of chain and key (the key cannot be read back). Made when they are wanted, changed in place
 * when they are renewed, removed when nobody uses them any more, and only those that we made.
 *
 * Who uses a certificate hears when what Rancher has of it changes: a load balancer reads a changed
 * certificate only when its own configuration changes, see desired.h.
 */
#pragma once

#include "provider-common/provider.h"
#include "provider-rancher/client.h"
#include "provider-rancher/desired.h"
#include "provider-rancher/inventory.h"

struct certs;

/* All pointers are kept. */
struct certs_config {
	const struct client *client;
	const struct config *options;
	struct provider *provider;
	struct inventory *inventory;
	/* What Rancher has of a certificate is another thing now: for each object that uses it. */
	void (*on_change)(void *ctx, struct object *user);
	void *ctx;
};

struct certs *certs_new(const struct certs_config *config);
void certs_free(struct certs *certs);

/* Takes what a commit says of certificates. */
void certs_on_commit(struct certs *certs, const struct state_commit *commit);
/* A certificate as the answer to question `number` tells it, and the end of a list. */
void certs_take(struct certs *certs, const struct json *item, uint64_t number);
void certs_end_list(struct certs *certs, uint64_t number);
/* A load balancer begins (1) or ceases (-1) to use the certificate with this id in Rancher. */
void certs_on_use(struct certs *certs, struct str id, int change);
/* Everything is known now: goes on with all. */
void certs_on_listed(struct certs *certs);

/* See desired.h. `id` is that of the object. */
enum certificate_answer certs_find(
	struct certs *certs, struct str id, struct str *ret_id, uint64_t *ret_digest);

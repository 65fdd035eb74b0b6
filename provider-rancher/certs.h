// SPDX-License-Identifier: Apache-2.0
/*
 * Certificates in Rancher: one for each Secret that is wanted, named by namespace and Secret, marked as ours
 * with a digest of chain and key (the key cannot be read back). Made when they are wanted, changed in place
 * when they are renewed, removed when nobody uses them any more, and only those that we made.
 *
 * Load balancers that use a certificate have to know when Rancher's copy changes, because Rancher reads a changed certificate only when
 * the configuration of a load balancer changes: see desired.h.
 */
#pragma once

#include "provider-common/provider.h"
#include "provider-rancher/client.h"
#include "provider-rancher/desired.h"
#include "provider-rancher/inventory.h"

struct certs;

/* Keeps all pointers. */
struct certs_config {
	const struct client *client;
	const struct config *options;
	struct provider *provider;
	struct inventory *inventory;
	/* Rancher's copy of a certificate has changed, or could not be written; called for each object that uses it. */
	void (*on_change)(void *ctx, struct object *user);
	void *ctx;
};

struct certs *certs_new(const struct certs_config *config);
void certs_free(struct certs *certs);

/* Takes the certificates of a commit. */
void certs_on_commit(struct certs *certs, const struct state_commit *commit);
/* A certificate in the answer to request `number`, and the end of a list. */
void certs_take(struct certs *certs, const struct json *item, uint64_t number);
void certs_end_list(struct certs *certs, uint64_t number);
/* A load balancer in Rancher begins (1) or ceases (-1) to use the certificate with this id. */
void certs_on_use(struct certs *certs, struct str id, int change);
/* Everything has been listed: goes on with all of them. */
void certs_on_listed(struct certs *certs);

/* See desired.h. `id` is that of the object. */
enum certificate_answer certs_find(
	struct certs *certs, struct str id, struct str *ret_id, uint64_t *ret_digest);

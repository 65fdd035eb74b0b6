// SPDX-License-Identifier: Apache-2.0
/*
 * From pools, certificates and users to rows, beside those of provider-proxy/routes.h. All are found by their whole key:
 *
 *   pool:<pool name>                        endpoints and how they are used, as lua/sluice/pools.lua reads it
 *   cert:<certificate name>                 digest of chain and key; objects_value() puts both in its place when it is sent
 *   client:<pool name>:<name of its content>  likewise, the certificate that the pool's endpoints are shown
 *   checked                                 names of the pools with health checks
 *   users:<users name>                      likewise, names and hashes of passwords
 *   sni:<host>                              certificate of a server name, `*.` for one label
 *   default:<load balancer name>:<port>     certificate for clients whose server name matches none
 *
 * No I/O. Takes the user pointers of pools, certificates and users for itself.
 */
#pragma once

#include "common/buf.h"
#include "provider-common/state.h"
#include "provider-proxy/externals.h"
#include "provider-proxy/names.h"
#include "provider-proxy/notices.h"
#include "provider-proxy/rows.h"
#include "provider-nginx/pair.h"
#include "provider-nginx/trusts.h"

struct objects;

/* The notices must outlive it. */
struct objects *objects_new(
	struct notices *notices, struct externals *externals, bool has_system_ca);
/* Takes its user pointers back; the state must still be there. */
void objects_free(struct objects *objects);

void objects_on_commit(
	struct objects *objects, struct state *state, const struct state_commit *commit);
/* The addresses of the pool's host name have changed. */
void objects_on_pool(struct objects *objects, struct state *state, struct object *pool);
/* nginx runs with this configuration: pools that had to wait for what it trusts now get their rows. True: there were some. */
bool objects_set_live(struct objects *objects, struct state *state, struct str conf);
/* Whether some pools still wait. */
bool objects_are_waiting(const struct objects *objects);
struct trusts *objects_trusts(struct objects *objects);
struct rows *objects_rows(struct objects *objects);
/* The pool, certificate or users of that name; NULL when there is none. */
struct object *objects_find(const struct objects *objects, struct str name);
/* Appends what nginx gets as the value of a row of objects_rows(). -EMSGSIZE when it does not fit; -ENOENT for a certificate that is gone.
 */
[[nodiscard]] int objects_value(
	struct objects *objects, struct state *state, const struct row *row, struct buf *out);
/* The value that the row has in objects_rows() when nginx has `value`. It lives in `text`, of PAIR_DIGEST_LEN bytes, or in `value`. */
struct str objects_row_value(struct str key, struct str value, char text[PAIR_DIGEST_LEN]);

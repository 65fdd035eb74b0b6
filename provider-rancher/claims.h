// SPDX-License-Identifier: Apache-2.0
/*
 * To whom each load balancer in Rancher belongs: ours by their mark, those of the Go original by their name. And which belong to nobody any
 * more and are to be removed. A load balancer is taken over or removed only if that is certain; otherwise it is left alone. No I/O.
 */
#pragma once

#include "provider-rancher/naming.h"
#include "provider-rancher/observed.h"

struct claims {
	struct observed *observed;
	const char *separator;
	void *ctx;
	/* Whether a load balancer is wanted for this identity; then *ret_row is its row (NULL: it has none yet), and *ret_routes the digest of
	 * what it is to serve. */
	bool (*is_wanted)(void *ctx, const struct identity *identity, struct lb_row **ret_row,
		uint64_t *ret_routes);
};

/* The unclaimed row that belongs to this identity; NULL when there is none. Of several the one with the primary name comes first, then one that
 * is active, then the oldest. `routes` is the digest of what is wanted: it decides when a name of the original could mean several
 * identities. Where many look, all do so by mark and primary name first, and only then `by_any_name` for the older forms of names, because
 * whoever has a row by then competes no more. */
struct lb_row *claims_find(const struct claims *claims, const struct identity *identity,
	uint64_t routes, bool by_any_name);

/* Whether an unclaimed row has the mark of this identity, even one that is being removed. */
bool claims_has_marked(const struct claims *claims, const struct identity *identity);
/* Another row with the name of `row`, or with the mark of its owner, that is not being removed; NULL: there is none. */
const struct lb_row *claims_find_duplicate(const struct claims *claims, const struct lb_row *row);

enum claims_name {
	CLAIMS_NAME_FREE,
	CLAIMS_NAME_GOING, /* one that is being removed still has it */
};

/* The name for a new one: the primary, or the hashed one if the primary is taken, or the server has refused it (`is_taken`). */
enum claims_name claims_name(const struct claims *claims, const struct identity *identity,
	bool is_taken, struct lb_name *ret_name);

enum claims_verdict {
	CLAIMS_LEAVE,     /* not ours, or being removed already */
	CLAIMS_UNCERTAIN, /* it may belong to somebody: left alone, and logged */
	CLAIMS_ORPHAN,    /* ours, of an Ingress that is gone */
};

/* Of an unclaimed row, once everything that is wanted is known. */
enum claims_verdict claims_judge(const struct claims *claims, const struct lb_row *row);

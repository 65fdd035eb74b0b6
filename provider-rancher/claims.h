// SPDX-License-Identifier: Apache-2.0
/*
 * Which of the load balancers that are there belongs to whom: ours by their mark, those of the original by
 * their name. And which belong to nobody any more and are to be removed. A load balancer is taken
 * over or removed only when there is no doubt; otherwise it is left alone. No I/O.
 */
#pragma once

#include "provider-rancher/naming.h"
#include "provider-rancher/observed.h"

struct claims {
	struct observed *observed;
	const char *separator;
	void *ctx;
	/* Whether a load balancer is wanted for this identity; *ret_row is its row (NULL: it has none yet), and
	 * *ret_routes the digest of what it wants to serve. */
	bool (*is_wanted)(void *ctx, const struct identity *identity, struct lb_row **ret_row,
		uint64_t *ret_routes);
};

/* Of several rows that could be meant the one with the primary name comes first, then one that is active, then the
 * oldest.
 *
 * The unclaimed row that is this identity's, NULL when there is none. `routes` is the digest of what is
 * wanted, which decides between several who could be meant by a name of the original. Where many
 * claim, all get theirs by mark and primary name first; only then is `by_any_name` looked for the older
 * forms, because who has got one is no rival any more. */
struct lb_row *claims_find(const struct claims *claims, const struct identity *identity,
	uint64_t routes, bool by_any_name);

/* Whether an unclaimed row bears the mark of this identity, be it on its way out. */
bool claims_has_marked(const struct claims *claims, const struct identity *identity);
/* Another row of the same name and stack as `row`, or with the mark of its owner, which is not on its way out; NULL:
 * there is none. */
const struct lb_row *claims_find_duplicate(const struct claims *claims, const struct lb_row *row);

enum claims_name {
	CLAIMS_NAME_FREE,
	CLAIMS_NAME_GOING, /* somebody on the way out still has it */
};

/* The name for a new one: the primary, or the hashed one when the primary is taken, or when `is_taken` says that
 * the server refused it. */
enum claims_name claims_name(const struct claims *claims, const struct identity *identity,
	bool is_taken, struct lb_name *ret_name);

enum claims_verdict {
	CLAIMS_LEAVE,     /* not ours, or on its way out already */
	CLAIMS_UNCERTAIN, /* may be somebody's: left alone, worth a line in the log */
	CLAIMS_ORPHAN,    /* ours, of an Ingress that is gone */
};

/* Of an unclaimed row, once everything that is wanted is known. */
enum claims_verdict claims_judge(const struct claims *claims, const struct lb_row *row);

// SPDX-License-Identifier: Apache-2.0
/*
 * What Rancher has: one row for each load balancer of our stack, with no more than is needed to compare it and to report its addresses. Rows
 * come from lists, single answers and change events, and know to which request each belongs, so that an old answer never overwrites a newer
 * one. No I/O.
 */
#pragma once

#include "provider-rancher/api_json.h"
#include "provider-rancher/mark.h"

struct balancer;

struct lb_row {
	struct balancer *owner; /* who has claimed it; NULL: nobody */
	struct lb_facets facets;
	uint64_t routes; /* digest of hosts and paths, see spec_routes() */
	uint64_t asked;  /* number of the newest request whose answer showed it */
	double since;    /* when it came into its state */
	const struct endpoint_set *endpoints;
	char *name;
	const char
		*identity; /* of the mark, as naming_text(), a shared text; NULL: there is none */
	char *message; /* of a transition that fails, without the ids of containers; NULL: none */
	char *fqdn;
	char *certificates; /* ids that it uses, with a ' ' behind each; NULL: none */
	uint8_t state;      /* enum server_state */
	uint8_t transitioning;
	bool has_our_external_id : 1;
	bool has_foreign_metadata : 1;
	bool has_scale_mark : 1;
	bool was_seen_orphaned : 1; /* unclaimed in an earlier list already */
	bool is_told_of : 1;        /* that it is left alone has been logged */
	char id[];
};

/* What an observation has changed. */
enum row_change {
	ROW_NEW = 1 << 0,
	ROW_FACETS = 1 << 1, /* what is compared with what is wanted */
	ROW_STATE = 1 << 2,
	ROW_ADDRESSES = 1 << 3,
};

struct observed;

/* on_certificate(): a row begins (1) or ceases (-1) to use a certificate; may be NULL. */
struct observed *observed_new(const char *external_id_prefix,
	void (*on_certificate)(void *ctx, struct str id, int change), void *ctx);
void observed_free(struct observed *observed);

struct lb_row *observed_find(const struct observed *observed, struct str id);
/* The first row of that name, claimed or not. Names are compared without case, as Rancher does; it keeps them unique, but two requests at
 * one moment may both pass its test. */
struct lb_row *observed_find_name(const struct observed *observed, const char *name);
struct lb_row *observed_next_name(const struct observed *observed, const struct lb_row *row);
/* Unclaimed rows with the mark of this identity (as naming_text()), by id. */
struct lb_row *observed_find_identity(const struct observed *observed, const char *identity);
struct lb_row *observed_next_identity(const struct observed *observed, const struct lb_row *row);
/* All, by id. */
struct lb_row *observed_first(const struct observed *observed);
struct lb_row *observed_next(const struct observed *observed, const struct lb_row *row);
/* Those that nobody has claimed, by id. */
struct lb_row *observed_first_unclaimed(const struct observed *observed);
struct lb_row *observed_next_unclaimed(const struct observed *observed, const struct lb_row *row);

void observed_claim(struct observed *observed, struct lb_row *row, struct balancer *owner);
void observed_release(struct observed *observed, struct lb_row *row);

/* Takes a load balancer from the answer to request `asked`. Requests are numbered in the order in which they are made; writes get their number
 * when the answer comes, because reads that were made before say nothing any more. *ret_changes is 0 when a newer answer has shown the row
 * already. A load balancer in state removed makes no new row: NULL. */
struct lb_row *observed_take(struct observed *observed, const struct rancher_lb *lb, uint64_t asked,
	double now, struct arena *arena, unsigned *ret_changes);
/* Must be unclaimed. */
void observed_forget(struct observed *observed, struct lb_row *row);

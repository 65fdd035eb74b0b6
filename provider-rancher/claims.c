// SPDX-License-Identifier: Apache-2.0
#include "provider-rancher/claims.h"

#include <strings.h>

/* The original's default separator; its load balancers are recognised even if another one is configured now. */
static const char DEFAULT_SEPARATOR[] = "rancherlb";

static bool is_same_identity(const struct identity *a, const struct identity *b)
{
	return a->kind == b->kind && str_eq(a->namespace, b->namespace) && str_eq(a->name, b->name);
}

/* ---- by mark ---- */

/* Ids are "1s12": a type and a number that counts up. */
static bool is_older(const struct lb_row *a, const struct lb_row *b)
{
	size_t a_len = strlen(a->id);
	size_t b_len = strlen(b->id);
	return a_len != b_len ? a_len < b_len : strcmp(a->id, b->id) < 0;
}

/* Which of two candidates to prefer: the one that serves, then the older one. */
static bool is_better(const struct lb_row *row, const struct lb_row *than)
{
	bool is_active = row->state == SERVER_STATE_ACTIVE;
	if (is_active != (than->state == SERVER_STATE_ACTIVE))
		return is_active;
	return is_older(row, than);
}

static bool is_leaving(const struct lb_row *row)
{
	return row->state == SERVER_STATE_REMOVING || row->state == SERVER_STATE_REMOVED;
}

static struct lb_row *find_marked(const struct claims *claims, const struct identity *identity)
{
	struct lb_name primary;
	struct arena arena;
	arena_init(&arena);
	naming_primary(identity, claims->separator, &primary);
	struct lb_row *first =
		observed_find_identity(claims->observed, naming_text(identity, &arena).p);
	struct lb_row *found = NULL;
	bool has_primary = false;
	for (struct lb_row *row = first; row != NULL;
		row = observed_next_identity(claims->observed, row)) {
		bool is_primary = strcasecmp(row->name, primary.text) == 0;
		if (!row->has_our_external_id || is_leaving(row) || (has_primary && !is_primary))
			continue;
		if (found == NULL || is_primary != has_primary || is_better(row, found))
			found = row;
		has_primary = is_primary;
	}
	arena_fini(&arena);
	return found;
}

/* ---- by name ---- */

/* Another balancer without a row could have been given this name as well. */
static bool is_rival(const struct claims *claims, const struct identity *self,
	const struct identity *other, uint64_t row_routes, bool *ret_fits)
{
	struct lb_row *row = NULL;
	uint64_t routes = 0;
	if (is_same_identity(self, other) ||
		!claims->is_wanted(claims->ctx, other, &row, &routes) || row != NULL)
		return false;
	*ret_fits = *ret_fits || routes == row_routes;
	return true;
}

static bool may_take(const struct claims *claims, const struct identity *identity, uint64_t routes,
	const struct lb_row *row)
{
	struct identity others[3 * NAMING_SPLITS_MAX];
	struct str name = str_from(row->name);
	size_t count = naming_split_legacy(name, others);
	count += naming_split(name, claims->separator, others + count);
	count += naming_split(name, DEFAULT_SEPARATOR, others + count);
	bool has_rival = false;
	bool rival_fits = false;
	for (size_t i = 0; i < count; i++)
		has_rival |= is_rival(claims, identity, &others[i], row->routes, &rival_fits);
	/* Among several candidates, the one whose hosts and paths the row serves. */
	return !has_rival || (row->routes == routes && !rival_fits);
}

static struct lb_row *find_named(const struct claims *claims, const struct identity *identity,
	uint64_t routes, const struct lb_name *name)
{
	struct lb_row *found = NULL;
	struct lb_row *row = observed_find_name(claims->observed, name->text);
	for (; row != NULL; row = observed_next_name(claims->observed, row)) {
		if (row->owner != NULL || row->identity != NULL || !row->has_our_external_id ||
			is_leaving(row) || !may_take(claims, identity, routes, row))
			continue;
		if (found == NULL || is_better(row, found))
			found = row;
	}
	return found;
}

struct lb_row *claims_find(const struct claims *claims, const struct identity *identity,
	uint64_t routes, bool by_any_name)
{
	struct lb_name name;
	struct lb_row *row = find_marked(claims, identity);
	/* The original had neither groups nor Services. */
	if (row != NULL || identity->kind != IDENTITY_INGRESS)
		return row;
	naming_primary(identity, claims->separator, &name);
	row = find_named(claims, identity, routes, &name);
	if (row != NULL || !by_any_name)
		return row;
	if (strcmp(claims->separator, DEFAULT_SEPARATOR) != 0) {
		naming_primary(identity, DEFAULT_SEPARATOR, &name);
		row = find_named(claims, identity, routes, &name);
	}
	if (row == NULL && naming_legacy(identity, &name))
		row = find_named(claims, identity, routes, &name);
	return row;
}

bool claims_has_marked(const struct claims *claims, const struct identity *identity)
{
	struct arena arena;
	arena_init(&arena);
	struct lb_row *row =
		observed_find_identity(claims->observed, naming_text(identity, &arena).p);
	while (row != NULL && (!row->has_our_external_id || row->state == SERVER_STATE_REMOVED))
		row = observed_next_identity(claims->observed, row);
	arena_fini(&arena);
	return row != NULL;
}

const struct lb_row *claims_find_duplicate(const struct claims *claims, const struct lb_row *row)
{
	struct lb_row *other = observed_find_name(claims->observed, row->name);
	for (; other != NULL; other = observed_next_name(claims->observed, other)) {
		if (other != row && other->owner == NULL && !is_leaving(other))
			return other;
	}
	if (row->identity == NULL)
		return NULL;
	other = observed_find_identity(claims->observed, row->identity);
	while (other != NULL && (!other->has_our_external_id || is_leaving(other)))
		other = observed_next_identity(claims->observed, other);
	return other;
}

/* ---- new names ---- */

enum claims_name claims_name(const struct claims *claims, const struct identity *identity,
	bool is_taken, struct lb_name *ret_name)
{
	naming_primary(identity, claims->separator, ret_name);
	struct lb_row *row = observed_find_name(claims->observed, ret_name->text);
	bool is_going = row != NULL;
	for (struct lb_row *at = row; at != NULL; at = observed_next_name(claims->observed, at))
		is_going = is_going && server_state_put(at->state) == SERVER_PUT_GOING;
	if (is_going)
		return CLAIMS_NAME_GOING;
	if (row != NULL || is_taken)
		naming_hashed(identity, claims->separator, ret_name);
	return CLAIMS_NAME_FREE;
}

/* ---- orphans ---- */

static enum claims_verdict judge_named(const struct claims *claims, const struct lb_row *row)
{
	struct identity identities[2 * NAMING_SPLITS_MAX];
	struct str name = str_from(row->name);
	size_t count = naming_split(name, claims->separator, identities);
	count += naming_split(name, DEFAULT_SEPARATOR, identities + count);
	/* A name without a known separator may have been made with another one, and belong to anybody. */
	if (count == 0)
		return CLAIMS_UNCERTAIN;
	for (size_t i = 0; i < count; i++) {
		struct lb_row *other = NULL;
		uint64_t routes = 0;
		if (claims->is_wanted(claims->ctx, &identities[i], &other, &routes))
			return CLAIMS_UNCERTAIN;
	}
	return CLAIMS_ORPHAN;
}

enum claims_verdict claims_judge(const struct claims *claims, const struct lb_row *row)
{
	struct identity identity;
	struct lb_row *other = NULL;
	uint64_t routes = 0;
	if (!row->has_our_external_id || server_state_put(row->state) == SERVER_PUT_GOING ||
		server_state_put(row->state) == SERVER_PUT_GONE)
		return CLAIMS_LEAVE;
	if (row->identity == NULL)
		return judge_named(claims, row);
	if (!naming_parse_text(str_from(row->identity), &identity))
		return CLAIMS_UNCERTAIN;
	return claims->is_wanted(claims->ctx, &identity, &other, &routes) ? CLAIMS_UNCERTAIN
									  : CLAIMS_ORPHAN;
}

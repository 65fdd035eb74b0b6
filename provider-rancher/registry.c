// SPDX-License-Identifier: Apache-2.0
#include "provider-rancher/registry.h"

#include "common/must.h"
#include "common/sorted.h"
#include "common/xalloc.h"
#include "provider-rancher/log_events.h"

struct registry {
	struct sorted by_identity;
	struct claims claims;
	const struct config *options;
};

/* ---- by identity ---- */

static int compare(const void *left, const void *right)
{
	const struct balancer *a = left;
	const struct balancer *b = right;
	return strcmp(a->identity, b->identity);
}

static int compare_identity(const void *identity, const void *balancer)
{
	return strcmp(identity, ((const struct balancer *)balancer)->identity);
}

void registry_add(struct registry *registry, struct balancer *balancer)
{
	balancer->is_listed = sorted_add(&registry->by_identity, balancer);
}

void registry_remove(struct registry *registry, struct balancer *balancer)
{
	if (balancer->is_listed)
		sorted_remove(&registry->by_identity, balancer);
	balancer->is_listed = false;
}

struct balancer *registry_find(const struct registry *registry, const char *identity)
{
	return sorted_find(&registry->by_identity, identity, compare_identity);
}

struct balancer *registry_first(const struct registry *registry)
{
	return sorted_first(&registry->by_identity);
}

struct balancer *registry_next(const struct registry *registry, const struct balancer *balancer)
{
	return sorted_next(&registry->by_identity, balancer);
}

/* ---- ownership ---- */

static bool is_wanted(
	void *ctx, const struct identity *identity, struct lb_row **ret_row, uint64_t *ret_routes)
{
	struct arena arena;
	arena_init(&arena);
	const struct balancer *balancer = registry_find(ctx, naming_text(identity, &arena).p);
	arena_fini(&arena);
	if (balancer == NULL || balancer->object == NULL || balancer->is_absent)
		return false;
	*ret_row = balancer->row;
	*ret_routes = balancer->routes;
	return true;
}

static struct identity identity_of(const struct balancer *balancer)
{
	struct identity identity = {.kind = IDENTITY_INGRESS};
	must(naming_parse_text(str_from(balancer->identity), &identity));
	return identity;
}

/* The row existed before we knew of it. */
static void adopt(struct balancer *balancer, struct lb_row *row)
{
	if (row->identity == NULL)
		log_event(&EV_BALANCER_ADOPTED, LOG_STR("lb", balancer->identity),
			LOG_STR("name", row->name), LOG_STR("id", row->id));
	balancer_claim(balancer, row);
	/* It may have had addresses before we adopted it. */
	balancer->shown.had_any = true;
	balancer_on_row_seen(balancer, ROW_ADDRESSES);
}

bool registry_claim_row(struct registry *registry, struct balancer *balancer)
{
	struct identity identity = identity_of(balancer);
	struct lb_row *row = claims_find(&registry->claims, &identity, balancer->routes, true);
	if (row != NULL)
		adopt(balancer, row);
	return row != NULL;
}

void registry_look_for_row(struct registry *registry, struct balancer *balancer, bool by_any_name)
{
	/* A balancer that must not exist looks for its row when it plans. */
	if (balancer->object == NULL || balancer->row != NULL || balancer->has_looked ||
		balancer->is_absent)
		return;
	struct identity identity = identity_of(balancer);
	struct lb_row *row =
		claims_find(&registry->claims, &identity, balancer->routes, by_any_name);
	balancer->has_looked = by_any_name;
	if (row != NULL)
		adopt(balancer, row);
}

bool registry_find_leftover(struct registry *registry, struct balancer *balancer)
{
	struct identity identity = identity_of(balancer);
	struct lb_row *row = claims_find(&registry->claims, &identity, 0, true);
	/* Without our mark the row may belong to somebody who does not use Sluice. */
	if (row != NULL && row->identity == NULL && registry->options->keep_unclaimed)
		row = NULL;
	if (row != NULL)
		balancer_claim(balancer, row);
	return row == NULL && claims_has_marked(&registry->claims, &identity);
}

bool registry_find_name(
	const struct registry *registry, const struct balancer *balancer, struct lb_name *ret_name)
{
	struct identity identity = identity_of(balancer);
	return claims_name(&registry->claims, &identity, balancer->is_name_taken, ret_name) ==
	       CLAIMS_NAME_FREE;
}

const struct lb_row *registry_find_duplicate(
	const struct registry *registry, const struct balancer *balancer)
{
	return balancer->row != NULL ? claims_find_duplicate(&registry->claims, balancer->row)
				     : NULL;
}

enum claims_verdict registry_judge(const struct registry *registry, const struct lb_row *row)
{
	enum claims_verdict verdict = claims_judge(&registry->claims, row);
	if (verdict == CLAIMS_ORPHAN && row->identity == NULL && registry->options->keep_unclaimed)
		return CLAIMS_UNCERTAIN;
	return verdict;
}

/* ---- lifecycle ---- */

struct registry *registry_new(struct observed *observed, const struct config *options)
{
	struct registry *registry = xcalloc(1, sizeof(*registry));
	sorted_init(&registry->by_identity, compare);
	registry->options = options;
	registry->claims = (struct claims){
		.observed = observed,
		.separator = options->separator,
		.ctx = registry,
		.is_wanted = is_wanted,
	};
	return registry;
}

void registry_free(struct registry *registry)
{
	if (registry == NULL)
		return;
	must(registry_first(registry) == NULL);
	sorted_fini(&registry->by_identity);
	free(registry);
}

// SPDX-License-Identifier: Apache-2.0
#include "translator/rules_canary.h"

#include <stdlib.h>

/* ---- which one ---- */

static int compare_numbers(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int compare_places(const struct path_claim *a, const struct path_claim *b)
{
	int order = str_cmp(a->path, b->path);
	if (order == 0)
		order = (int)a->type - (int)b->type;
	return order != 0 ? order : str_cmp(a->ingress->namespace, b->ingress->namespace);
}

static int compare_canaries(const void *left, const void *right)
{
	const struct path_claim *a = left;
	const struct path_claim *b = right;
	int order = compare_places(a, b);
	if (order == 0)
		order = compare_numbers(a->created, b->created);
	if (order == 0)
		order = str_cmp(a->ingress->name, b->ingress->name);
	if (order == 0)
		order = compare_numbers(a->rule, b->rule);
	return order != 0 ? order : compare_numbers(a->position, b->position);
}

struct canaries canaries_of(struct path_claim *claims, size_t count, struct arena *arena)
{
	struct canaries canaries = {.claims = claims, .count = count};
	if (count == 0)
		return canaries;
	qsort(claims, count, sizeof(*claims), compare_canaries);
	canaries.taken = arena_calloc(arena, count, sizeof(*canaries.taken));
	return canaries;
}

const struct path_claim *canaries_take(
	const struct canaries *canaries, const struct path_claim *claim)
{
	size_t low = 0;
	size_t high = canaries->count;
	/* Guards of the other Ingress must hold, and a rule that answers by itself has nothing to share. */
	if (str_is_empty(claim->pool) || claim->is_implied ||
		(claim->route != NULL && claim->route->is_closed))
		return NULL;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (compare_places(&canaries->claims[middle], claim) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == canaries->count || compare_places(&canaries->claims[low], claim) != 0)
		return NULL;
	canaries->taken[low] = claim;
	return &canaries->claims[low];
}

/* ---- rules ---- */

struct adding {
	struct virtual_host *host;
	const struct path_rule *rule;
	struct arena *arena;
};

static struct path_rule *add(const struct adding *a, struct str pool)
{
	struct path_rule *rule = &a->host->rules.items[a->host->rules.count++];
	*rule = *a->rule;
	rule->pool = pool;
	return rule;
}

static void add_if(const struct adding *a, struct condition condition, struct str pool)
{
	struct path_rule *rule = add(a, pool);
	rule->conditions.items = arena_alloc(a->arena, sizeof(condition));
	rule->conditions.items[0] = condition;
	rule->conditions.count = 1;
}

/* The words that decide for it, and against it. */
static void add_words(const struct adding *a, struct condition condition, struct str pool)
{
	condition.value = STR("always");
	add_if(a, condition, pool);
	condition.value = STR("never");
	add_if(a, condition, a->rule->pool);
}

static void add_header(
	const struct adding *a, const struct canary_settings *canary, struct str pool)
{
	struct condition condition = {.subject = CONDITION_HEADER, .name = canary->header};
	if (!str_is_empty(canary->header_value)) {
		condition.value = canary->header_value;
		add_if(a, condition, pool);
	} else if (!str_is_empty(canary->header_regex)) {
		condition.match = CONDITION_REGEX;
		condition.value = canary->header_regex;
		add_if(a, condition, pool);
	} else {
		add_words(a, condition, pool);
	}
}

static void add_weights(
	const struct adding *a, const struct canary_settings *canary, struct str pool)
{
	if (canary->weight == 0 || canary->weight >= canary->weight_total) {
		(void)add(a, canary->weight == 0 ? a->rule->pool : pool);
		return;
	}
	struct path_rule *rule = add(a, STR_NONE);
	rule->pools.items = arena_calloc(a->arena, 2, sizeof(struct weighted_pool));
	rule->pools.items[0] =
		(struct weighted_pool){a->rule->pool, canary->weight_total - canary->weight};
	rule->pools.items[1] = (struct weighted_pool){pool, canary->weight};
	rule->pools.count = 2;
}

void canaries_add_rules(struct virtual_host *host, const struct path_rule *rule,
	const struct path_claim *canary, struct arena *arena)
{
	const struct canary_settings *settings = canary->route->canary;
	struct path_rule base = *rule;
	struct adding a = {host, &base, arena};
	if (settings->keeps_sessions && !str_eq(rule->pool, canary->pool)) {
		base.canary = arena_alloc(arena, sizeof(*base.canary));
		*base.canary = (struct rule_canary){rule->pool, canary->pool, settings->is_loose};
	}
	if (!str_is_empty(settings->header))
		add_header(&a, settings, canary->pool);
	if (!str_is_empty(settings->cookie))
		add_words(&a,
			(struct condition){.subject = CONDITION_COOKIE, .name = settings->cookie},
			canary->pool);
	add_weights(&a, settings, canary->pool);
}

/* ---- diagnostics ---- */

void canaries_tell(const struct canaries *canaries, struct str host, struct diag_list *diags)
{
	struct str where = str_is_empty(host) ? STR("any host") : host;
	const struct path_claim *winner = NULL;
	for (size_t i = 0; i < canaries->count && diags != NULL; i++) {
		const struct path_claim *claim = &canaries->claims[i];
		if (canaries->taken[i] != NULL) {
			winner = claim;
			continue;
		}
		struct str field = arena_printf(diags->arena, "spec.rules[%zu].http.paths[%zu]",
			claim->rule, claim->position);
		const char *path = diag_quote(diags->arena, claim->path);
		if (winner != NULL && compare_places(winner, claim) == 0)
			diag_add(diags, claim->ingress, "CanaryConflict", field.p,
				"%s of %.*s has a canary already, by Ingress %.*s/%.*s", path,
				STR_FMT(where), STR_FMT(winner->ingress->namespace),
				STR_FMT(winner->ingress->name));
		else
			diag_add(diags, claim->ingress, "CanaryUnused", field.p,
				"nothing is served for it: no other Ingress of this namespace "
				"leads %s of %.*s, with the same path type, to a backend",
				path, STR_FMT(where));
	}
}

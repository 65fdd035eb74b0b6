// SPDX-License-Identifier: Apache-2.0
#include "translator/rules.h"

#include "translator/paths.h"
#include "translator/keys.h"

#include <stdio.h>
#include <stdlib.h>

static int compare_numbers(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int compare_ages(const struct path_claim *a, const struct path_claim *b)
{
	int order = compare_numbers(a->created, b->created);
	if (order == 0)
		order = str_cmp(a->ingress->namespace, b->ingress->namespace);
	return order != 0 ? order : str_cmp(a->ingress->name, b->ingress->name);
}

/* The order of rules.h. */
static int compare_precedence(const void *left, const void *right)
{
	const struct path_claim *a = left;
	const struct path_claim *b = right;
	int order = path_compare(a->path, a->type, b->path, b->type);
	if (order == 0)
		order = (int)a->is_implied - (int)b->is_implied;
	if (order == 0)
		order = compare_ages(a, b);
	if (order == 0)
		order = compare_numbers(b->path.len, a->path.len);
	if (order == 0)
		order = compare_numbers(a->rule, b->rule);
	return order != 0 ? order : compare_numbers(a->position, b->position);
}

/* Makes claims that may collide adjacent, each group in order of precedence. */
static int compare_paths(const void *left, const void *right)
{
	const struct path_claim *a = left;
	const struct path_claim *b = right;
	int order = path_compare(a->path, a->type, b->path, b->type);
	if (order == 0)
		order = str_cmp(path_stem(a->path), path_stem(b->path));
	if (order == 0 && a->type == PATH_EXACT)
		order = compare_numbers(b->path.len, a->path.len);
	return order != 0 ? order : compare_precedence(left, right);
}

static bool is_same_ingress(const struct path_claim *a, const struct path_claim *b)
{
	return str_eq(a->ingress->namespace, b->ingress->namespace) &&
	       str_eq(a->ingress->name, b->ingress->name);
}

/* Both match the same requests, so the second could never be reached. Prefix and implementation-specific
 * count as the same. Within one Ingress "/foo" stays beside "/foo/": owners write both, and a load balancer
 * that compares plain text needs both. */
static bool collide(const struct path_claim *a, const struct path_claim *b)
{
	bool exact = a->type == PATH_EXACT;
	if (exact != (b->type == PATH_EXACT))
		return false;
	if (str_eq(a->path, b->path))
		return true;
	return !exact && !is_same_ingress(a, b) && str_eq(path_stem(a->path), path_stem(b->path));
}

static void tell_loser(const struct path_claim *winner, const struct path_claim *loser,
	struct str host, struct arena *arena, struct diag_list *diags)
{
	if (loser->is_implied)
		return;
	bool same = is_same_ingress(winner, loser);
	if (same && str_eq(winner->pool, loser->pool))
		return;
	char field[96];
	snprintf(field, sizeof(field), "spec.rules[%zu].http.paths[%zu]", loser->rule,
		loser->position);
	const char *path = diag_quote(arena, loser->path);
	struct str where = str_is_empty(host) ? STR("any host") : host;
	if (same) {
		diag_add(diags, loser->ingress, "DuplicatePath", field,
			"%s of %.*s stands twice in this Ingress; the first one counts", path,
			STR_FMT(where));
		return;
	}
	diag_add(diags, loser->ingress, "PathConflict", field,
		"%s of %.*s belongs to the older Ingress %.*s/%.*s", path, STR_FMT(where),
		STR_FMT(winner->ingress->namespace), STR_FMT(winner->ingress->name));
}

static void add_rule(struct virtual_host *host, const struct path_claim *claim, struct arena *arena)
{
	host->rules.items[host->rules.count++] = (struct path_rule){
		.path = claim->path,
		.match = claim->type,
		.pool = claim->pool,
		.redirect = (struct redirect *)(uintptr_t)claim->redirect,
		.answer = (struct fixed_answer *)(uintptr_t)claim->answer,
		.policy = claim->policy,
		.tls_only = claim->tls_only,
		.ingress = key_join(arena, claim->ingress->namespace, '/', claim->ingress->name),
	};
}

/* Moves the claims that stay to the front, and returns how many there are. */
static size_t drop_losers(struct path_claim *claims, size_t count, struct str host,
	struct arena *arena, struct diag_list *diags)
{
	size_t kept = 0;
	if (count > 1)
		qsort(claims, count, sizeof(*claims), compare_paths);
	for (size_t i = 0; i < count; i++) {
		if (kept != 0 && collide(&claims[kept - 1], &claims[i]))
			tell_loser(&claims[kept - 1], &claims[i], host, arena, diags);
		else
			claims[kept++] = claims[i];
	}
	return kept;
}

static size_t cost_of(const struct path_claim *claim)
{
	return 64 + claim->path.len + claim->pool.len + claim->policy.len +
	       claim->ingress->namespace.len + claim->ingress->name.len;
}

void rules_merge(struct path_claim *claims, size_t count, struct str host, struct arena *arena,
	struct virtual_host *ret_host, struct diag_list *diags)
{
	size_t bytes = 0;
	count = drop_losers(claims, count, host, arena, diags);
	if (count > 1)
		qsort(claims, count, sizeof(*claims), compare_precedence);
	ret_host->rules.items = arena_calloc(arena, count, sizeof(struct path_rule));
	ret_host->rules.count = 0;
	for (size_t i = 0; i < count; i++) {
		const struct path_claim *claim = &claims[i];
		bytes += cost_of(claim);
		if (ret_host->rules.count < RULES_MAX && bytes <= RULES_BYTES_MAX) {
			add_rule(ret_host, claim, arena);
			continue;
		}
		diag_add(diags, claim->ingress, "TooManyPaths", NULL,
			"host %.*s has more paths than one load balancer can take; %s is left out",
			STR_FMT(host), diag_quote(arena, claim->path));
	}
}

// SPDX-License-Identifier: Apache-2.0
#include "translator/rules.h"

#include "common/must.h"
#include "translator/claim_route.h"
#include "translator/keys.h"
#include "translator/paths.h"
#include "translator/regexes.h"
#include "translator/rules_canary.h"

#include <stdio.h>
#include <stdlib.h>

/* What the steps of one merge share. */
struct merge {
	struct str host;
	struct arena *arena;
	struct diag_list *diags;
	const struct path_claim
		*regex; /* the oldest that makes all paths regular expressions; NULL: none */
	const struct object_ref *told; /* the last one that was told so */
	bool has_tls;                  /* somebody has a certificate for the host */
};

/* ---- orders ---- */

static int compare_numbers(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int compare_ages(const struct path_claim *a, const struct path_claim *b)
{
	int order = compare_numbers(a->created, b->created);
	if (order == 0)
		order = (int)a->is_greater_first - (int)b->is_greater_first;
	if (order != 0)
		return order;
	order = str_cmp(a->ingress->namespace, b->ingress->namespace);
	if (order == 0)
		order = str_cmp(a->ingress->name, b->ingress->name);
	return a->is_greater_first ? -order : order;
}

static int compare_owners(const struct path_claim *a, const struct path_claim *b)
{
	int order = (int)a->is_implied - (int)b->is_implied;
	return order != 0 ? order : compare_ages(a, b);
}

static int compare_positions(const struct path_claim *a, const struct path_claim *b)
{
	int order = compare_numbers(a->rule, b->rule);
	return order != 0 ? order : compare_numbers(a->position, b->position);
}

/* The order of rules.h. */
static int compare_precedence(const void *left, const void *right)
{
	const struct path_claim *a = left;
	const struct path_claim *b = right;
	int order = path_compare(a->path, a->type, b->path, b->type);
	if (order == 0)
		order = compare_owners(a, b);
	if (order == 0)
		order = compare_numbers(b->path.len, a->path.len);
	return order != 0 ? order : compare_positions(a, b);
}

/* That of a host with regular expressions: the longest text, then the greatest. */
static int compare_regexes(const void *left, const void *right)
{
	const struct path_claim *a = left;
	const struct path_claim *b = right;
	int order = (int)(b->extra == CLAIM_ROOT) - (int)(a->extra == CLAIM_ROOT);
	if (order == 0)
		order = compare_numbers(b->path.len, a->path.len);
	if (order == 0)
		order = str_cmp(b->path, a->path);
	if (order == 0)
		order = compare_owners(a, b);
	return order != 0 ? order : compare_positions(a, b);
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

/* ---- collisions ---- */

static bool is_same_ingress(const struct path_claim *a, const struct path_claim *b)
{
	return str_eq(a->ingress->namespace, b->ingress->namespace) &&
	       str_eq(a->ingress->name, b->ingress->name);
}

/* Both match the same requests, so the second could never be reached. Prefix and implementation-specific
 * count as the same. Within one Ingress "/foo" stays beside "/foo/": owners write both, and a load balancer
 * that compares plain text needs both. */
static bool collide(const struct merge *m, const struct path_claim *a, const struct path_claim *b)
{
	bool exact = a->type == PATH_EXACT;
	if (m->regex != NULL)
		return a->extra == b->extra && str_eq(a->path, b->path);
	if (exact != (b->type == PATH_EXACT))
		return false;
	if (str_eq(a->path, b->path))
		return true;
	return !exact && !is_same_ingress(a, b) && str_eq(path_stem(a->path), path_stem(b->path));
}

static void tell_loser(
	const struct merge *m, const struct path_claim *winner, const struct path_claim *loser)
{
	if (loser->is_implied)
		return;
	bool same = is_same_ingress(winner, loser);
	if (same && str_eq(winner->pool, loser->pool))
		return;
	char field[96];
	snprintf(field, sizeof(field), "spec.rules[%zu].http.paths[%zu]", loser->rule,
		loser->position);
	const char *path = diag_quote(m->arena, loser->path);
	struct str where = str_is_empty(m->host) ? STR("any host") : m->host;
	if (same) {
		diag_add(m->diags, loser->ingress, "DuplicatePath", field,
			"%s of %.*s stands twice in this Ingress; the first one counts", path,
			STR_FMT(where));
		return;
	}
	diag_add(m->diags, loser->ingress, "PathConflict", field,
		"%s of %.*s belongs to the older Ingress %.*s/%.*s", path, STR_FMT(where),
		STR_FMT(winner->ingress->namespace), STR_FMT(winner->ingress->name));
}

/* Moves the claims that stay to the front, and returns how many there are. */
static size_t drop_losers(const struct merge *m, struct path_claim *claims, size_t count)
{
	size_t kept = 0;
	if (count > 1)
		qsort(claims, count, sizeof(*claims),
			m->regex != NULL ? compare_regexes : compare_paths);
	for (size_t i = 0; i < count; i++) {
		if (kept != 0 && collide(m, &claims[kept - 1], &claims[i]))
			tell_loser(m, &claims[kept - 1], &claims[i]);
		else
			claims[kept++] = claims[i];
	}
	return kept;
}

/* Other names of hosts count only where nobody has them as his own. */
static size_t drop_other_names(struct path_claim *claims, size_t count)
{
	size_t kept = 0;
	for (size_t i = 0; i < count; i++) {
		if (!claims[i].is_other_name)
			claims[kept++] = claims[i];
	}
	return kept != 0 ? kept : count;
}

/* A path without its slash is sent nowhere if something serves it, nor among regular expressions. */
static bool is_served(const struct path_claim *claims, size_t count, struct str path)
{
	size_t low = 0;
	size_t high = count;
	const struct path_claim wanted = {.path = path, .type = PATH_PREFIX};
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct path_claim *claim = &claims[middle];
		int order = path_compare(claim->path, claim->type, path, wanted.type);
		if (order == 0)
			order = str_cmp(path_stem(claim->path), path);
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < count && str_eq(path_stem(claims[low].path), path); low++) {
		if (str_eq(claims[low].path, path))
			return true;
	}
	return false;
}

/* The claims are in the order of compare_paths() unless there are regular expressions. */
static size_t drop_slashes(const struct merge *m, struct path_claim *claims, size_t count)
{
	bool is_needless;
	size_t kept = 0;
	for (size_t i = 0; i < count; i++) {
		is_needless =
			claims[i].extra == CLAIM_SLASH &&
			(m->regex != NULL || is_served(claims + i, count - i, claims[i].path));
		if (!is_needless)
			claims[kept++] = claims[i];
	}
	return kept;
}

/* ---- rules ---- */

/* Moves canaries behind the others, and returns how many others there are. */
static size_t part_canaries(struct path_claim *claims, size_t count)
{
	size_t others = 0;
	for (size_t i = 0; i < count; i++) {
		if (claim_is_canary(&claims[i]))
			continue;
		if (i != others) {
			struct path_claim canary = claims[others];
			claims[others] = claims[i];
			claims[i] = canary;
		}
		others++;
	}
	return others;
}

static void find_modes(
	struct merge *m, const struct path_claim *claims, size_t count, struct virtual_host *host)
{
	for (size_t i = 0; i < count; i++) {
		const struct claim_route *route = claims[i].route;
		if (route == NULL)
			continue;
		host->decoded |= route->is_decoded;
		if (route->is_regex && (m->regex == NULL || compare_ages(&claims[i], m->regex) < 0))
			m->regex = &claims[i];
	}
}

static void tell_regex(struct merge *m, const struct path_claim *claim, const struct object_ref *by)
{
	if (m->told == claim->ingress || claim->is_implied)
		return;
	m->told = claim->ingress;
	diag_add(m->diags, claim->ingress, "RegexHost", NULL,
		"all paths of %.*s are regular expressions, for Ingress %.*s/%.*s has such: those "
		"of "
		"this Ingress match without case, and whatever follows them",
		STR_FMT(str_is_empty(m->host) ? STR("any host") : m->host), STR_FMT(by->namespace),
		STR_FMT(by->name));
}

static struct str regex_of(struct merge *m, const struct path_claim *claim, bool is_regex)
{
	if (claim->extra == CLAIM_ROOT)
		return STR("^/$");
	return regex_of_path(claim->path, is_regex, m->arena);
}

/* The rule is zeroed. */
static void fill_rule(struct merge *m, const struct path_claim *claim, const struct object_ref *by,
	struct path_rule *rule)
{
	const struct claim_route *route = claim->route;
	bool is_regex = route != NULL && route->is_regex;
	rule->pool = claim->pool;
	rule->tls_only = claim->tls_only;
	rule->ingress = key_join(m->arena, claim->ingress->namespace, '/', claim->ingress->name);
	if (by == NULL) {
		rule->path = claim->path;
		rule->match = claim->type;
	} else {
		rule->regex = regex_of(m, claim, is_regex);
		if (!is_regex && claim->extra == CLAIM_USUAL)
			tell_regex(m, claim, by);
	}
	if (route != NULL) {
		rule->policy = route->policy;
		rule->unlogged = route->is_unlogged;
		rule->redirect = (struct redirect *)(uintptr_t)route->redirect;
		rule->answer = (struct fixed_answer *)(uintptr_t)route->answer;
		if (route->has_cookie_path && !str_is_empty(claim->pool) && claim->path.len > 1)
			rule->cookie_path = claim->path;
	}
}

/* ---- the root of the host ---- */

static bool has_root(const struct path_claim *claim)
{
	return claim->route != NULL && claim->route->app_root != NULL;
}

static void tell_roots(const struct merge *m, const struct path_claim *claims, size_t count,
	const struct path_claim *winner)
{
	const struct object_ref *told = NULL;
	for (size_t i = 0; i < count; i++) {
		if (!has_root(&claims[i]) || claims[i].ingress == told ||
			is_same_ingress(&claims[i], winner))
			continue;
		told = claims[i].ingress;
		diag_add(m->diags, told, "PathConflict", NULL,
			"the root of %.*s is redirected as Ingress %.*s/%.*s says, which has the "
			"longer path, %s",
			STR_FMT(m->host.len != 0 ? m->host : STR("any host")),
			STR_FMT(winner->ingress->namespace), STR_FMT(winner->ingress->name),
			diag_quote(m->arena, winner->path));
	}
}

/* Of several the one that belongs to the longest path counts. It takes the place of whatever serves the path "/" itself. Returns the claims, which are in a
 * new place then. */
static struct path_claim *settle_root(
	const struct merge *m, struct path_claim *claims, size_t *count)
{
	const struct path_claim *winner = NULL;
	for (size_t i = 0; i < *count; i++) {
		if (has_root(&claims[i]) &&
			(winner == NULL || compare_regexes(&claims[i], winner) < 0))
			winner = &claims[i];
	}
	if (winner == NULL)
		return claims;
	tell_roots(m, claims, *count, winner);
	struct path_claim *all = arena_calloc(m->arena, *count + 1, sizeof(*all));
	struct claim_route *route = arena_alloc(m->arena, sizeof(*route));
	*route = (struct claim_route){
		.redirect = winner->route->app_root, .is_decoded = winner->route->is_decoded};
	all[0] = *winner;
	all[0].path = STR("/");
	all[0].type = PATH_EXACT;
	all[0].pool = STR("");
	all[0].route = route;
	all[0].extra = CLAIM_ROOT;
	all[0].is_implied = false;
	size_t kept = 1;
	for (size_t i = 0; i < *count; i++) {
		bool is_taken = m->regex == NULL && claims[i].type == PATH_EXACT &&
				str_eq_c(claims[i].path, "/");
		if (!is_taken)
			all[kept++] = claims[i];
	}
	*count = kept;
	return all;
}

/* ---- HTTPS by certificates of others ---- */

static bool goes_to_tls(const struct merge *m, const struct path_claim *claim)
{
	return m->has_tls && claim->route != NULL && claim->route->tls_redirect.status != 0 &&
	       !claim->tls_only;
}

static void add_piece(const struct merge *m, struct redirect *redirect, const struct piece *piece)
{
	void *items = redirect->location.items;
	struct piece *place =
		arena_push(m->arena, &items, &redirect->location.count, sizeof(*place));
	redirect->location.items = items;
	*place = *piece;
}

/* The rules from `first` on are those for HTTPS; over plain HTTP the same requests are sent there. */
static void part_tls(const struct merge *m, const struct tls_redirect *wish,
	struct path_rule redirect_rule, size_t first, struct virtual_host *host)
{
	struct redirect *redirect = arena_alloc(m->arena, sizeof(*redirect));
	for (size_t i = first; i < host->rules.count; i++)
		host->rules.items[i].tls_only = true;
	redirect->status = wish->status;
	add_piece(m, redirect, &(struct piece){.text = STR("https://")});
	add_piece(m, redirect, &(struct piece){.value = REQUEST_HOST});
	if (wish->port != 0)
		add_piece(m, redirect,
			&(struct piece){.text = arena_printf(m->arena, ":%llu",
						(unsigned long long)wish->port)});
	add_piece(m, redirect,
		&(struct piece){
			.value = wish->without_slash ? REQUEST_TARGET_UNSLASHED : REQUEST_TARGET});
	redirect_rule.pool = redirect_rule.cookie_path = STR("");
	redirect_rule.answer = NULL;
	redirect_rule.redirect = redirect;
	host->rules.items[host->rules.count++] = redirect_rule;
}

static size_t cost_of(
	const struct path_claim *claim, const struct path_claim *canary, bool is_regex)
{
	const struct object_ref *owner = claim->ingress;
	must(owner != NULL);
	bool has_cookie = claim->route != NULL && claim->route->has_cookie_path;
	size_t cost = 64 + (1U + is_regex + has_cookie) * claim->path.len + claim->pool.len +
		      owner->namespace.len + owner->name.len + route_cost(claim->route);
	if (canary == NULL)
		return cost;
	const struct canary_settings *settings = canary->route->canary;
	return CANARY_RULES_MAX * (cost + 64 + 2 * canary->pool.len + claim->pool.len +
					  settings->header.len + settings->header_value.len +
					  settings->header_regex.len + settings->cookie.len);
}

static void add_rules(struct merge *m, const struct path_claim *claims, size_t count,
	const struct canaries *canaries, struct virtual_host *host)
{
	size_t bytes = 0;
	const struct object_ref *by = m->regex != NULL ? m->regex->ingress : NULL;
	for (size_t i = 0; i < count; i++) {
		const struct path_claim *claim = &claims[i];
		const struct path_claim *canary =
			canaries->count != 0 ? canaries_take(canaries, claim) : NULL;
		bool is_parted = goes_to_tls(m, claim);
		size_t most = (canary != NULL ? CANARY_RULES_MAX : 1U) + is_parted;
		size_t first = host->rules.count;
		struct path_rule rule = {0};
		bytes += cost_of(claim, canary, by != NULL) * (is_parted ? 2 : 1);
		if (host->rules.count + most > RULES_MAX || bytes > RULES_BYTES_MAX) {
			diag_add(m->diags, claim->ingress, "TooManyPaths", NULL,
				"host %.*s has more paths than one load balancer can take; %s is "
				"left out",
				STR_FMT(m->host), diag_quote(m->arena, claim->path));
			continue;
		}
		fill_rule(m, claim, by, &rule);
		if (canary != NULL)
			canaries_add_rules(host, &rule, canary, m->arena);
		else
			host->rules.items[host->rules.count++] = rule;
		if (is_parted)
			part_tls(m, &claim->route->tls_redirect, rule, first, host);
	}
}

bool rules_have_tls(const struct path_claim *claims, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct claim_route *route = claims[i].route;
		if (route != NULL && route->has_tls && !claims[i].is_other_name)
			return true;
	}
	return false;
}

void rules_merge(struct path_claim *claims, size_t count, const struct rules_host *about,
	struct arena *arena, struct virtual_host *ret_host, struct diag_list *diags)
{
	struct str host = about->name;
	struct merge m = {.host = host, .arena = arena, .diags = diags, .has_tls = about->has_tls};
	count = drop_other_names(claims, count);
	size_t others = part_canaries(claims, count);
	struct canaries canaries = {0};
	if (others < count)
		canaries = canaries_of(claims + others, count - others, arena);
	struct path_claim regex;
	find_modes(&m, claims, others, ret_host);
	if (m.regex != NULL) {
		/* The claims are about to be moved. */
		regex = *m.regex;
		m.regex = &regex;
	}
	size_t kept = drop_losers(&m, claims, others);
	kept = drop_slashes(&m, claims, kept);
	claims = settle_root(&m, claims, &kept);
	if (kept > 1 && m.regex == NULL)
		qsort(claims, kept, sizeof(*claims), compare_precedence);
	ret_host->rules.items = arena_calloc(arena,
		(m.has_tls ? 2U : 1U) * kept + (CANARY_RULES_MAX - 1) * canaries.count,
		sizeof(struct path_rule));
	ret_host->rules.count = 0;
	add_rules(&m, claims, kept, &canaries, ret_host);
	canaries_tell(&canaries, host, diags);
}

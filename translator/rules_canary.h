// SPDX-License-Identifier: Apache-2.0
/*
 * Canaries: an Ingress that takes a share of the requests of another one of its namespace. Its claims are no rules; they become conditions and weights of
 * the rules of the other one for the same path and type, with all that is said there of what is done with requests. Pure.
 *
 * For each request: the header, then the cookie, then the weight; what they do not decide goes on as without a canary.
 */
#pragma once

#include "translator/rules.h"

enum { CANARY_RULES_MAX = 5 /* made of one rule */ };

struct canaries {
	struct path_claim *claims; /* sorted by path and type, then by age */
	size_t count;
	const struct path_claim **taken; /* for each the rule that it has a share of; NULL: none */
};

static inline bool claim_is_canary(const struct path_claim *claim)
{
	return claim->route != NULL && claim->route->canary != NULL;
}

/* Sorts the claims in place. */
struct canaries canaries_of(struct path_claim *claims, size_t count, struct arena *arena);
/* The one that takes a share of the claim's requests; NULL: none. */
const struct path_claim *canaries_take(
	const struct canaries *canaries, const struct path_claim *claim);
/* Adds `rule`, which leads to a pool, with the share of the canary. Returns how many rules it has made. */
void canaries_add_rules(struct virtual_host *host, const struct path_rule *rule,
	const struct path_claim *canary, struct arena *arena);
/* Tells those that have no share of anything. */
void canaries_tell(const struct canaries *canaries, struct str host, struct diag_list *diags);

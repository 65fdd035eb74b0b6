// SPDX-License-Identifier: Apache-2.0
/*
 * What an Ingress asks for its requests, in whichever dialect it was written: the policy of its rules, and what else its rules do or need. A dialect
 * (dialects/) fills it in from annotations, plan_rules.c puts it into the claims of paths, and the engine makes a policy object of it. Pure data: views of
 * the record, or in the arena of the plan.
 */
#pragma once

#include "proto/model.h"

/* Which requests go to the pools of this Ingress instead of those that another one has for the same host and path. */
struct canary_settings {
	struct str header; /* lower case; empty: none */
	/* Both empty: the words "always" and "never" decide. */
	struct str header_value;
	struct str header_regex;
	struct str cookie;     /* "always" and "never" decide; empty: none */
	uint64_t weight;       /* of `weight_total`; not greater than that */
	uint64_t weight_total; /* at least 1 */
};

/* Which annotation asked for a word, for messages. */
struct route_asked {
	unsigned word;     /* one bit of enum policy_bit */
	const char *field; /* such as "metadata.annotations[sluice.io/redirect]" */
};

struct route_settings {
	/* Words that a provider must have for what is asked for here: dialect_ask() adds to both. */
	unsigned needs; /* bits of enum policy_bit */
	LIST_OF(struct route_asked) asked;
	struct policy
		policy; /* without key and `ingress`; basic_auth->users is the id of the object */
	struct str
		users_secret; /* name of the Secret that basic_auth->users is made of; empty: none */
	bool users_are_keys; /* each key of it is a user, its value the hash; otherwise its key `auth` has lines NAME:HASH */
	const struct redirect *redirect;      /* takes the place of the pools; NULL: none */
	const struct fixed_answer *answer;    /* likewise */
	const struct canary_settings *canary; /* NULL: its rules are its own */
	bool has_regex; /* its paths are regular expressions; makes those of all Ingresses on the host such */
	bool is_decoded; /* paths are compared decoded */
	bool is_closed;  /* a guard has a value that cannot be used: all of its rules answer 503 */
};

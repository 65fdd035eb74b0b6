// SPDX-License-Identifier: Apache-2.0
/*
 * Checks of rules and policies, as checks.h has them for everything else: the translator has checked already, but a provider trusts nobody. What passes
 * holds no control bytes: texts of pieces and of headers are 0x20 to 0x7e without blanks at the ends, names are tokens (RFC 9110), names and values of conditions
 * and regular expressions may have bytes above 0x7f, too. No I/O.
 */
#pragma once

#include "common/arena.h"
#include "proto/model.h"

enum {
	CHECK_REGEX_LEN_MAX = 2048,
	CHECK_HEADER_NAME_LEN_MAX = 256,
};

/* One or more bytes of a token. */
bool check_token(struct str name);
/* Printable ASCII, with blanks inside at most; may be empty. */
bool check_text(struct str text);
/* Host in lower case, `*.` before it at most, behind `SCHEME://` and before a port; or `null`. */
bool check_origin(struct str origin);
/* Whether texts and names in them are good. */
bool check_pieces(const struct piece *pieces, size_t count);
/* A name that requests or answers may get or lose: not one by which messages and connections are told apart. */
bool check_changeable_header(struct str name);

/* NULL, or why what the rule says cannot be done, beyond its path, pool and policy: it has to be closed then. */
const char *rule_problem(const struct path_rule *rule);
/* Takes out of the policy what fails, or puts something usable in its place; *ret_problem then says what. False: what fails protects. Lists are made anew in
 * the arena. */
bool policy_settle(struct policy *policy, struct arena *arena, struct str *ret_problem);

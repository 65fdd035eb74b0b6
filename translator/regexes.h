// SPDX-License-Identifier: Apache-2.0
/*
 * Regular expressions of owners, which proxies run on each request: compiled here, under the limits of PROTOCOL.md, so that none can break a proxy's
 * configuration, and without what makes matching slow or leaves the text that is matched. Pure.
 */
#pragma once

#include "common/arena.h"

enum {
	REGEX_LEN_MAX = 2048,
	REGEX_GROUPS_MAX = 32,
	REGEX_NEST_MAX = 32,
	REGEX_STEPS_MAX = 100 * 1000
};

/* NULL, or why it cannot be used. */
const char *regex_check(struct str text, struct arena *arena);
/* The expression that paths of a host have to match: case does not matter, it holds from the beginning on, and not to the end.
 * `is_regex`: the path is one; otherwise each of its characters means itself. */
struct str regex_of_path(struct str path, bool is_regex, struct arena *arena);
/* Whether the expression may be that of the path. */
bool regex_is_of_path(struct str regex, struct str path);
/* Whether it is found in the text, as a proxy would find it; one that takes too many steps is not. */
bool regex_finds(struct str regex, struct str text);
/* A prefix that all paths which it matches have; at least "/". */
struct str regex_prefix(struct str path);

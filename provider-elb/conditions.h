// SPDX-License-Identifier: Apache-2.0
/*
 * Hosts and paths as conditions of rules. No I/O.
 *
 * AWS ("Condition types for listener rules") compares a value of at most 128 characters as a pattern, with '*' for any text and '?' for any character, or a
 * regular expression of at most 128 characters. A host value has letters, digits, '-', '.', at least one dot and only letters behind the last one; a path
 * value has A-Z a-z 0-9 and _-.$/~"'@:+&. What is not of these characters, or holds a '*' or '?' that means itself, becomes a regular expression.
 *
 * A rule has at most 3 values in a condition, 5 in all and 5 wildcards: the worst case here has 3 and 2.
 */
#pragma once

#include "common/arena.h"
#include "provider-elb/resources.h"
#include "provider-elb/settings.h"

enum { CONDITION_LEN_MAX = 128 };

enum conditions_result {
	CONDITIONS_GOOD,
	CONDITIONS_HOST_REFUSED, /* a wildcard, and settings say so */
	CONDITIONS_HOST_CHARS,   /* no condition can say it */
	CONDITIONS_HOST_LEN,
	CONDITIONS_PATH_CHARS,
	CONDITIONS_PATH_LEN,
};

struct condition_list {
	struct elb_condition *items; /* host, then path */
	size_t count;
};

/* Whether the Host header of this port says only the host: clients leave out 80 and 443. */
bool conditions_port_is_usual(uint64_t port);

/* `rule` NULL: all of the host, whatever the path. Never empty: any host and any path is the path "/ *" (without the blank). */
enum conditions_result conditions_make(const struct virtual_host *host,
	const struct path_rule *rule, uint64_t port, enum wildcard_hosts wildcard_hosts,
	struct arena *arena, struct condition_list *ret_conditions);
/* With WILDCARD_GLOB: the hosts that the pattern of the wildcard takes, and an Ingress does not mean: "*.*.example.com". */
enum conditions_result conditions_make_deeper(const struct virtual_host *host, struct arena *arena,
	struct condition_list *ret_conditions);

/* The rule takes every path. */
bool conditions_take_all(const struct path_rule *rule);

// SPDX-License-Identifier: Apache-2.0
/*
 * Paths of rules. The API server admits nearly any bytes (Kubernetes API concepts, "Ingress path
 * types"). Accepted here is what RFC 3986 allows in a path without escapes, except what has a
 * meaning in some load balancer's configuration. Pure.
 */
#pragma once

#include "proto/model.h"

enum {
	PATH_LEN_MAX = 1024,
	PATH_ELEMENTS_MAX = 64, /* a proxy may look them up one by one, for each request */
};

/* NULL if the path can be served, otherwise the reason, worded for its owner. An empty path is
 * accepted where it means "/". */
const char *path_check(struct str path, enum path_type type);
/* The path as it is served: "/" for an empty one. */
struct str path_normal(struct str path);
/* Without the one slash at the end that a prefix ignores: "/foo/" gives "/foo", "/" gives "". */
struct str path_stem(struct str path);

/* The order in which two paths of one host are tried, as far as the paths themselves decide:
 * negative when a goes first. Longer stems go first, then Exact before the others. So what matches
 * exactly is never hidden by a prefix, and a longer prefix never by a shorter one, whatever the
 * trailing slashes. */
int path_compare(struct str a, enum path_type a_type, struct str b, enum path_type b_type);

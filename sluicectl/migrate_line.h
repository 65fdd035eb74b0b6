// SPDX-License-Identifier: Apache-2.0
/* The line for manifests of ingress-nginx. */
#pragma once

#include "sluicectl/line.h"

#define MIGRATE_PREFIX "nginx.ingress.kubernetes.io"

/* Runs it with the dialect switched on. `map`: NAMESPACE/NAME of the ConfigMap with the global options; empty: none. NULL: the reason was printed, and *ret_code is the
 * exit code. */
struct line *migrate_line_run(
	const struct args *args, const char *provider, struct str map, int *ret_code);
/* Whether --with says which ConfigMap it is. */
bool migrate_line_has_map(const struct args *args);
/* What the names of the annotations begin with, as --with says. */
struct str migrate_line_prefix(const struct args *args);

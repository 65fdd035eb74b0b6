// SPDX-License-Identifier: Apache-2.0
/* The line for manifests of ingress-nginx. */
#pragma once

#include "sluicectl/line.h"

#define MIGRATE_PREFIX "nginx.ingress.kubernetes.io"

/* Runs it with the dialect switched on. NULL: the reason was printed, and *ret_code is the exit code. */
struct line *migrate_line_run(const struct args *args, const char *provider, int *ret_code);
/* What the names of the annotations begin with, as --with says. */
struct str migrate_line_prefix(const struct args *args);

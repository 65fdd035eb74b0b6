// SPDX-License-Identifier: Apache-2.0
/* What the commands on manifests share. */
#pragma once

#include "sluicectl/args.h"
#include "sluicectl/line.h"

/* A line with these manifests, not run yet, of the provider that --provider names or, without it, `fallback`. NULL: *ret_code is the exit
 * code, and the reason has been told. */
struct line *offline_open(const struct args *args, const struct text_list *files,
	const char *fallback, int *ret_code);
/* Adds manifests; an exit code. */
int offline_read(struct line *line, const struct args *args, const struct text_list *files);

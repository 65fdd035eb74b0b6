// SPDX-License-Identifier: Apache-2.0
/* What the commands on manifests share. */
#pragma once

#include "sluicectl/args.h"
#include "sluicectl/line.h"

#define OFFLINE_PROVIDER "haproxy" /* without --provider */

/* The line with the manifests of --filename. NULL: *ret_code is the exit code, and the reason has been told. */
struct line *offline_run(const struct args *args, enum line_goal goal, int *ret_code);

// SPDX-License-Identifier: Apache-2.0
/* What differs between two states: load balancers, routes, pools and certificates, each as lines of text. No I/O but printing. */
#pragma once

#include "provider-common/state.h"

#include <stdio.h>

struct comparison {
	size_t added;
	size_t changed;
	size_t removed;
};

void compare_print(FILE *out, struct state *before, struct state *after, bool has_color,
	struct comparison *ret_comparison);

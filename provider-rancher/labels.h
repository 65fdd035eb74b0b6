// SPDX-License-Identifier: Apache-2.0
/* Which labels are taken from Ingresses, and therefore managed on load balancers; see labels.def. No I/O. */
#pragma once

#include "common/arena.h"
#include "common/str.h"

enum { LABEL_VALUE_LEN_MAX = 255 };

bool label_is_safe(struct str key);
bool label_value_is_good(struct str value);
/* The key as Rancher writes it. Annotations cannot hold ':', so the original turned the first '.' behind
 * "io.rancher.scheduler." into one. */
struct str label_key(struct str key, struct arena *arena);
/* The label that wants one instance on every host. */
bool label_is_global(struct str key, struct str value);

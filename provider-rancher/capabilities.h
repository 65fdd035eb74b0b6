// SPDX-License-Identifier: Apache-2.0
/* What this provider says in its hello, and what it does not keep of the objects. No I/O. */
#pragma once

#include "proto/model.h"

#include <stdbool.h>

/* Static. */
struct capabilities *rancher_capabilities(void);
/* See provider_ops.reduce. */
bool rancher_reduce(enum lb_kind kind, void *value);

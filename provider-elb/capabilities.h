// SPDX-License-Identifier: Apache-2.0
/* What this provider says in its hello. No I/O. */
#pragma once

#include "proto/model.h"

/* Static. */
struct capabilities *elb_capabilities(void);

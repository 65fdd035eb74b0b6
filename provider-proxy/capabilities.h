// SPDX-License-Identifier: Apache-2.0
/* What every provider with a proxy on this machine says in its hello. No I/O. */
#pragma once

#include "proto/model.h"

/* Static. */
struct capabilities *local_capabilities(void);

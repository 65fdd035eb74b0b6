// SPDX-License-Identifier: Apache-2.0
/* The capabilities in the `hello` of every provider with a proxy on this machine. No I/O. */
#pragma once

#include "proto/model.h"

/* Static. */
struct capabilities *local_capabilities(void);

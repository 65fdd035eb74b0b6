// SPDX-License-Identifier: Apache-2.0
/* The rights that the translator keeps once its listeners are open: its memory and its open descriptors. */
#pragma once

#include "common/sandbox.h"

/* It allows no files, new sockets or programs. The caller enters or frees it. */
struct sandbox *confine_translator(void);

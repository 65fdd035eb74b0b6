// SPDX-License-Identifier: Apache-2.0
/* What the translator keeps of its rights once its listeners are open: its memory and its open descriptors. */
#pragma once

#include "common/sandbox.h"

/* No file, no new socket, no program. The caller enters or frees it. */
struct sandbox *confine_translator(void);

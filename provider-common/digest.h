// SPDX-License-Identifier: Apache-2.0
/* What stands for bytes that are not kept, to find out later whether others are the same. */
#pragma once

#include "common/str.h"

/* The first bytes of their SHA-256. It means something within one process only: its value depends on the byte order. */
uint64_t digest_of(struct str bytes);

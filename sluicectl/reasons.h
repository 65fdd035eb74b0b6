// SPDX-License-Identifier: Apache-2.0
/* The catalogue of reasons: what to do about each word that Events, statuses and explanations carry. No I/O. */
#pragma once

#include "common/str.h"

/* NULL: none is needed, or the reason is not ours. */
const char *reason_remedy(struct str word);

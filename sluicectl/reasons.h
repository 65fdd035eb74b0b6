// SPDX-License-Identifier: Apache-2.0
/* The catalogue of reasons: what to do about each word that Events, statuses and explanations carry. No I/O. */
#pragma once

#include "common/buf.h"

/* NULL: none is needed, or the reason is not ours. */
const char *reason_remedy(struct str word);
/* Appends all of them as one object: {WORD: REMEDY}. -EMSGSIZE. */
[[nodiscard]] int reasons_put_json(struct buf *out);

// SPDX-License-Identifier: Apache-2.0
/* Text of ours for HAProxy's configuration file. Values of users go through quote.h, or have passed a check that leaves nothing to quote. */
#pragma once

#include "common/buf.h"

/* Appends. What is written so is bounded by the checks of its parts and the limits on their number, so it always fits. */
[[gnu::format(printf, 2, 3)]] void text_add(struct buf *out, const char *format, ...);

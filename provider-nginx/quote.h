// SPDX-License-Identifier: Apache-2.0
/* The one way by which a text gets into nginx's configuration. No I/O. */
#pragma once

#include "common/buf.h"

enum { QUOTE_LEN_MAX = 1024 /* nginx refuses words of about 4,000 bytes */ };

/* Appends the text as one word: quotes around it, a backslash before quotes and backslashes. -EINVAL, and nothing is appended, for what no
 * quoting makes harmless: NUL, control bytes, bytes above 0x7e, and `$`, which begins a variable in most directives and has no escape;
 * also for a text over the limit. -EMSGSIZE when the buffer is full. */
[[nodiscard]] int quote_append(struct buf *out, struct str text);

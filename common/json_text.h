// SPDX-License-Identifier: Apache-2.0
/* JSON as text, for what is written once and not looked at: quoted strings. No I/O. */
#pragma once

#include "common/buf.h"

/* Appends the text in quotes (RFC 8259, section 7). -EMSGSIZE. */
[[nodiscard]] int json_text_put(struct buf *out, struct str text);

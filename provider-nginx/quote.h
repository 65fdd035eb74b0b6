// SPDX-License-Identifier: Apache-2.0
/* The one way by which a value gets into nginx's configuration. No I/O. */
#pragma once

#include "common/buf.h"

enum { QUOTE_LEN_MAX = 3200 /* nginx refuses words of about 4,000 bytes */ };

/* Appends a value of a template (provider-proxy/template.h), which then means itself and nothing more. Inside of double quotes, those of nginx or of
 * Lua, it gets a backslash before quotes and backslashes; outside of them it is as template_append_bare() has it. -EINVAL, and nothing is
 * appended, for what no quoting makes harmless: NUL, control bytes, bytes above 0x7e, and `$`, which begins a variable in most directives and
 * has no escape; also for a value over the limit. -EMSGSIZE when the buffer is full. */
[[nodiscard]] int quote_escape(struct buf *out, struct str value, bool is_quoted);

// SPDX-License-Identifier: Apache-2.0
/*
 * The two grammars of HAProxy in which a value can end up (HAProxy 2.6 configuration manual, section 2.2; management guide, section 9.3).
 * Every word that is not a constant of ours goes through one of these functions, even if a check has left nothing in it to quote.
 * -EINVAL: the value cannot be expressed and is refused.
 */
#pragma once

#include "common/buf.h"

enum { QUOTE_WORD_LEN_MAX = 13 * 1024 };

/* Appends a value of a template (provider-proxy/template.h) so that it is taken literally. Inside double quotes it is escaped. Outside them,
 * where it may be part of a word, it is refused if it is empty or has a byte other than [A-Za-z0-9/._:-] and brackets.
 * Refused anywhere: NUL, and more than QUOTE_WORD_LEN_MAX bytes. */
[[nodiscard]] int quote_escape(struct buf *out, struct str value, bool is_quoted);
/* Appends one word of a configuration file, in double quotes. Refused: NUL, and more than QUOTE_WORD_LEN_MAX bytes. */
[[nodiscard]] int quote_config(struct buf *out, struct str value);
/* Appends one word of the command line. Refused: what would end the line or the command: bytes below 0x20, and 0x7f. */
[[nodiscard]] int quote_command(struct buf *out, struct str value);

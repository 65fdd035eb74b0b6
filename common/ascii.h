// SPDX-License-Identifier: Apache-2.0
/* Letters and digits of ASCII, whatever the locale. */
#pragma once

#include "common/arena.h"

static inline bool ascii_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static inline bool ascii_is_lower(char c)
{
	return c >= 'a' && c <= 'z';
}

static inline bool ascii_is_upper(char c)
{
	return c >= 'A' && c <= 'Z';
}

static inline bool ascii_is_letter(char c)
{
	return ascii_is_lower(c) || ascii_is_upper(c);
}

static inline bool ascii_is_alnum(char c)
{
	return ascii_is_letter(c) || ascii_is_digit(c);
}

static inline char ascii_to_lower(char c)
{
	return ascii_is_upper(c) ? (char)(c - 'A' + 'a') : c;
}

/* Letters, digits and what is in `others` alone; a NUL is never. The empty text is. */
bool ascii_is_made_of(struct str text, const char *others);
/* Bytes from 0x20 to 0x7e alone. The empty text is. */
bool ascii_is_printable(struct str text);
/* Without regard to the case of letters. */
bool ascii_eq_nocase(struct str a, struct str b);
/* In small letters, in the arena, with a NUL behind it. */
struct str ascii_lower(struct arena *arena, struct str text);

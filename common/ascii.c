// SPDX-License-Identifier: Apache-2.0
#include "common/ascii.h"

bool ascii_is_made_of(struct str text, const char *others)
{
	for (size_t i = 0; i < text.len; i++) {
		char c = text.p[i];
		if (!ascii_is_alnum(c) && (c == '\0' || strchr(others, c) == NULL))
			return false;
	}
	return true;
}

bool ascii_is_printable(struct str text)
{
	for (size_t i = 0; i < text.len; i++) {
		if (text.p[i] < 0x20 || text.p[i] > 0x7e)
			return false;
	}
	return true;
}

bool ascii_eq_nocase(struct str a, struct str b)
{
	if (a.len != b.len)
		return false;
	for (size_t i = 0; i < a.len; i++) {
		if (ascii_to_lower(a.p[i]) != ascii_to_lower(b.p[i]))
			return false;
	}
	return true;
}

struct str ascii_lower(struct arena *arena, struct str text)
{
	char *copy = arena_alloc(arena, text.len + 1);
	for (size_t i = 0; i < text.len; i++)
		copy[i] = ascii_to_lower(text.p[i]);
	return (struct str){copy, text.len};
}

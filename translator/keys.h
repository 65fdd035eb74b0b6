// SPDX-License-Identifier: Apache-2.0
/* Keys and ids made of two parts, without the cost of printf(): every event needs some. */
#pragma once

#include "common/arena.h"

/* a, separator and b in the arena, NUL-terminated. */
static inline struct str key_join(struct arena *arena, struct str a, char separator, struct str b)
{
	char *text = arena_alloc(arena, a.len + b.len + 2);
	str_put(text, a);
	text[a.len] = separator;
	str_put(text + a.len + 1, b);
	return (struct str){text, a.len + 1 + b.len};
}

/* The number in decimal digits. */
static inline struct str key_number(struct arena *arena, uint64_t number)
{
	char digits[20];
	size_t first = sizeof(digits);
	do {
		digits[--first] = (char)('0' + number % 10);
		number /= 10;
	} while (number != 0);
	return arena_str(arena, (struct str){digits + first, sizeof(digits) - first});
}

/* Before the port in the key of a pool whose bytes are passed on; equally long. */
#define KEY_TCP "tcp:"
#define KEY_UDP "udp:"
static inline bool key_is_passed(struct str port)
{
	return str_starts_with(port, STR(KEY_TCP)) || str_starts_with(port, STR(KEY_UDP));
}

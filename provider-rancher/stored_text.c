// SPDX-License-Identifier: Apache-2.0
#include "provider-rancher/stored_text.h"

static const struct str replacement = {"\xef\xbf\xbd", 3};

/* The first byte of a four-byte sequence. */
static bool is_lead_of_four(char c)
{
	return (unsigned char)c >= 0xf0;
}

static bool is_continued(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

bool stored_text_is_good(struct str text)
{
	for (size_t i = 0; i < text.len; i++) {
		if (is_lead_of_four(text.p[i]))
			return false;
	}
	return true;
}

/* Of the character that starts at `at`. */
static size_t character_len(struct str text, size_t at)
{
	size_t end = at + 1;
	while (end < text.len && is_continued(text.p[end]))
		end++;
	return end - at;
}

struct str stored_text_description(struct str text, struct arena *arena)
{
	if (stored_text_is_good(text) && text.len <= STORED_DESCRIPTION_MAX)
		return text;
	/* No replacement is longer than the original. */
	char *room = arena_alloc(arena, text.len + 1);
	size_t len = 0;
	size_t characters = 0;
	for (size_t at = 0; at < text.len && characters < STORED_DESCRIPTION_MAX; characters++) {
		struct str character = {text.p + at, character_len(text, at)};
		at += character.len;
		if (is_lead_of_four(character.p[0]))
			character = replacement;
		str_put(room + len, character);
		len += character.len;
	}
	return (struct str){room, len};
}

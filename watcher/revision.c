// SPDX-License-Identifier: Apache-2.0
#include "watcher/revision.h"

#include "common/must.h"
#include "common/shared_text.h"

#include <inttypes.h>
#include <stdio.h>

enum { DIGITS_MAX = 18 /* twice such a number fits */ };

static bool is_plain(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       c == '-' || c == '.' || c == '_' || c == '~';
}

bool revision_set(struct revision *revision, struct str text)
{
	if (text.len == 0 || text.len > REVISION_LEN_MAX)
		return false;
	for (size_t i = 0; i < text.len; i++) {
		if (!is_plain(text.p[i]))
			return false;
	}
	str_put(revision->text, text);
	revision->text[text.len] = '\0';
	return true;
}

bool revision_is_set(const struct revision *revision)
{
	return revision->text[0] != '\0';
}

static bool is_decimal(struct str s)
{
	if (s.len == 0 || (s.len > 1 && s.p[0] == '0'))
		return false;
	for (size_t i = 0; i < s.len; i++) {
		if (s.p[i] < '0' || s.p[i] > '9')
			return false;
	}
	return true;
}

bool revision_is_older(struct str a, struct str b)
{
	if (!is_decimal(a) || !is_decimal(b))
		return false;
	if (a.len != b.len)
		return a.len < b.len;
	return str_cmp(a, b) < 0;
}

static uint64_t bits_of(struct str text)
{
	if (!is_decimal(text) || text.len > DIGITS_MAX) {
		uint64_t address = (uintptr_t)shared_text_get(text);
		must(address % 2 == 0);
		return address;
	}
	uint64_t number = 0;
	for (size_t i = 0; i < text.len; i++)
		number = number * 10 + (uint64_t)(text.p[i] - '0');
	return number * 2 + 1;
}

static bool is_number(struct revision_kept kept)
{
	return kept.bits % 2 == 1;
}

static const char *shared_of(struct revision_kept kept)
{
	return (const char *)(uintptr_t)kept.bits;
}

void revision_keep(struct revision_kept *kept, struct str text)
{
	struct revision_kept old = *kept;
	kept->bits = bits_of(text);
	if (!is_number(old))
		shared_text_drop(shared_of(old));
}

struct str revision_text(struct revision_kept kept, char room[REVISION_NUMBER_ROOM])
{
	if (!is_number(kept))
		return str_from(shared_of(kept));
	int len = snprintf(room, REVISION_NUMBER_ROOM, "%" PRIu64, kept.bits / 2);
	return (struct str){room, (size_t)len};
}

bool revision_kept_is_older(struct revision_kept a, struct revision_kept b)
{
	char room_a[REVISION_NUMBER_ROOM];
	char room_b[REVISION_NUMBER_ROOM];
	if (is_number(a) && is_number(b))
		return a.bits < b.bits;
	return revision_is_older(revision_text(a, room_a), revision_text(b, room_b));
}

// SPDX-License-Identifier: Apache-2.0
#include "watcher/revision.h"

#include "common/ascii.h"

static bool is_plain(char c)
{
	return ascii_is_alnum(c) || c == '-' || c == '.' || c == '_' || c == '~';
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

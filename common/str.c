// SPDX-License-Identifier: Apache-2.0
#include "common/str.h"

#include "common/xalloc.h"

char *str_dup(struct str s)
{
	char *copy = xmalloc(s.len + 1);
	if (s.len != 0)
		memcpy(copy, s.p, s.len);
	copy[s.len] = '\0';
	return copy;
}

/* Length of the well-formed sequence at p (RFC 3629, section 4), 0 when there is none. */
static size_t utf8_sequence_len(const unsigned char *p, size_t left)
{
	unsigned char lead = p[0];
	if (lead < 0x80)
		return lead != 0 ? 1 : 0;
	size_t len = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
	if (lead < 0xc2 || lead > 0xf4 || len > left)
		return 0;
	unsigned char second_min = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
	unsigned char second_max = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
	if (p[1] < second_min || p[1] > second_max)
		return 0;
	for (size_t i = 2; i < len; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	}
	return len;
}

bool str_is_utf8(struct str s)
{
	const unsigned char *p = (const unsigned char *)s.p;
	size_t at = 0;
	while (at < s.len) {
		size_t len = utf8_sequence_len(p + at, s.len - at);
		if (len == 0)
			return false;
		at += len;
	}
	return true;
}

bool str_to_int(struct str s, int64_t min, int64_t max, int64_t *ret_value)
{
	size_t at = 0;
	bool negative = min < 0 && s.len > 1 && s.p[0] == '-';
	if (negative)
		at = 1;
	size_t digits = s.len - at;
	if (digits == 0 || digits > 19 || (digits > 1 && s.p[at] == '0'))
		return false;
	int64_t value = 0;
	for (; at < s.len; at++) {
		if (s.p[at] < '0' || s.p[at] > '9')
			return false;
		int64_t digit = s.p[at] - '0';
		if (__builtin_mul_overflow(value, 10, &value) ||
			__builtin_add_overflow(value, digit, &value))
			return false;
	}
	if (negative)
		value = -value;
	if (value < min || value > max)
		return false;
	*ret_value = value;
	return true;
}

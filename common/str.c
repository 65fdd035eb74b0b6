// SPDX-License-Identifier: Apache-2.0
#include "common/str.h"

#include "common/must.h"
#include "common/xalloc.h"

char *str_dup(struct str s)
{
	char *copy = xmalloc(s.len + 1);
	if (s.len != 0)
		memcpy(copy, s.p, s.len);
	copy[s.len] = '\0';
	return copy;
}

void str_set(char **text, struct str with)
{
	char *before = *text;
	*text = with.len != 0 ? str_dup(with) : NULL;
	free(before);
}

struct str str_join(char *to, size_t room, const struct str *parts, size_t count)
{
	size_t len = str_parts_len(parts, count);
	must(len < room);
	str_put_parts(to, parts, count);
	to[len] = '\0';
	return (struct str){to, len};
}

struct str str_from_uint(uint64_t value, char digits[STR_UINT_LEN])
{
	size_t at = STR_UINT_LEN;
	do {
		digits[--at] = (char)('0' + value % 10);
		value /= 10;
	} while (value != 0);
	return (struct str){digits + at, STR_UINT_LEN - at};
}

struct str str_from_hex(uint64_t value, size_t len, char *digits)
{
	for (size_t at = len; at-- != 0; value >>= 4)
		digits[at] = "0123456789abcdef"[value & 15];
	return (struct str){digits, len};
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

struct str str_trim(struct str s)
{
	while (s.len != 0 && is_blank(s.p[0]))
		s = str_skip(s, 1);
	while (s.len != 0 && is_blank(s.p[s.len - 1]))
		s.len--;
	return s;
}

/* RFC 3629, section 4. */
size_t str_utf8_sequence_len(struct str s)
{
	const unsigned char *p = (const unsigned char *)s.p;
	if (s.len == 0)
		return 0;
	unsigned char lead = p[0];
	if (lead < 0x80)
		return lead != 0 ? 1 : 0;
	size_t len = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
	if (lead < 0xc2 || lead > 0xf4 || len > s.len)
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

char *str_dup_utf8(struct str s)
{
	static const char REPLACEMENT[] = "\xef\xbf\xbd";
	if (str_is_utf8(s))
		return str_dup(s);
	must(s.len < SIZE_MAX / 3);
	char *copy = xmalloc(s.len * 3 + 1);
	size_t used = 0;
	while (s.len != 0) {
		size_t len = str_utf8_sequence_len(s);
		memcpy(copy + used, len != 0 ? s.p : REPLACEMENT, len != 0 ? len : 3);
		used += len != 0 ? len : 3;
		s = str_skip(s, len != 0 ? len : 1);
	}
	copy[used] = '\0';
	return copy;
}

/* Length of the ASCII prefix without NUL; may stop a little early. */
static size_t count_ascii(struct str s)
{
	static const uint64_t ONES = UINT64_C(0x0101010101010101);
	size_t count = 0;
	uint64_t eight = 0;
	for (; s.len - count >= sizeof(eight); count += sizeof(eight)) {
		memcpy(&eight, s.p + count, sizeof(eight));
		/* A zero byte borrows, and so sets the bit that bytes of multibyte sequences have. */
		if (((eight | (eight - ONES)) & (ONES << 7)) != 0)
			return count;
	}
	while (count < s.len && (signed char)s.p[count] > 0)
		count++;
	return count;
}

bool str_is_utf8(struct str s)
{
	s = str_skip(s, count_ascii(s));
	while (s.len != 0) {
		size_t len = str_utf8_sequence_len(s);
		if (len == 0)
			return false;
		s = str_skip(s, len);
	}
	return true;
}

struct str str_last_lines(struct str s, char line_end, size_t len_max)
{
	if (s.len <= len_max)
		return s;
	/* From the byte before the cut on: it may end a line. */
	const char *before = s.p + (s.len - len_max - 1);
	const char *blank = NULL;
	for (const char *c = before; c < before + len_max / 2; c++) {
		if (*c == line_end)
			return str_skip(s, (size_t)(c + 1 - s.p));
		if (blank == NULL && (*c == ' ' || *c == '\t'))
			blank = c;
	}
	return str_skip(s, (size_t)((blank != NULL ? blank : before) + 1 - s.p));
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

// SPDX-License-Identifier: Apache-2.0
#include "common/json_scan.h"

#include <endian.h>

enum { ESCAPE_LEN = 6 /* of \uXXXX */ };

struct scanner {
	struct str text;
	size_t at;
	const char *problem;
	size_t depth;
	size_t value_count;
	bool replaces;
	char *copy; /* where to replace; NULL: only look */
};

/* Bytes that need no escape in a string. */
static const bool is_plain[256] = {
	[0x20 ... 0x21] = true, /* then the quote */
	[0x23 ... 0x5b] = true, /* then the backslash */
	[0x5d ... 0x7f] = true,
};

static bool fail(struct scanner *s, const char *problem)
{
	s->problem = problem;
	return false;
}

/* The byte `ahead` of the position; NUL at the end: the text must not contain NUL. */
static unsigned char peek(const struct scanner *s, size_t ahead)
{
	return ahead < s->text.len - s->at ? (unsigned char)s->text.p[s->at + ahead] : 0;
}

static bool is_digit(unsigned char c)
{
	return c >= '0' && c <= '9';
}

static size_t digits_from(const struct scanner *s, size_t ahead)
{
	size_t count = 0;
	while (is_digit(peek(s, ahead + count)))
		count++;
	return count;
}

/* RFC 8259, section 6. cJSON would also take "01", "1." and the like. */
static bool scan_number(struct scanner *s)
{
	size_t len = peek(s, 0) == '-';
	size_t digits = digits_from(s, len);
	if (digits == 0 || (digits > 1 && peek(s, len) == '0'))
		return fail(s, "a number is malformed");
	len += digits;
	if (peek(s, len) == '.') {
		digits = digits_from(s, len + 1);
		if (digits == 0)
			return fail(s, "a number is malformed");
		len += 1 + digits;
	}
	if (peek(s, len) == 'e' || peek(s, len) == 'E') {
		len += peek(s, len + 1) == '+' || peek(s, len + 1) == '-' ? 2 : 1;
		digits = digits_from(s, len);
		if (digits == 0)
			return fail(s, "a number is malformed");
		len += digits;
	}
	if (len > JSON_NUMBER_LEN_MAX)
		return fail(s, "a number is too long");
	s->at += len;
	return true;
}

/* The code unit of the \uXXXX escape `ahead` of the position; false if there is none. */
static bool peek_code_unit(const struct scanner *s, size_t ahead, unsigned *ret_unit)
{
	unsigned unit = 0;
	if (peek(s, ahead) != '\\' || peek(s, ahead + 1) != 'u')
		return false;
	for (size_t i = 2; i < ESCAPE_LEN; i++) {
		unsigned c = peek(s, ahead + i);
		unsigned digit = c - '0';
		if (digit > 9) {
			digit = (c | 0x20U) - 'a';
			if (digit > 5)
				return false;
			digit += 10;
		}
		unit = unit * 16 + digit;
	}
	*ret_unit = unit;
	return true;
}

static void replace_escape(struct scanner *s)
{
	s->replaces = true;
	if (s->copy != NULL)
		memcpy(s->copy + s->at, "\\ufffd", ESCAPE_LEN);
}

static bool scan_unicode_escape(struct scanner *s)
{
	unsigned unit = 0;
	unsigned low = 0;
	if (!peek_code_unit(s, 0, &unit))
		return fail(s, "an escape is malformed");
	if (unit >= 0xd800 && unit <= 0xdbff && peek_code_unit(s, ESCAPE_LEN, &low) &&
		low >= 0xdc00 && low <= 0xdfff) {
		s->at += (size_t)ESCAPE_LEN * 2;
		return true;
	}
	if (unit == 0 || (unit >= 0xd800 && unit <= 0xdfff))
		replace_escape(s);
	s->at += ESCAPE_LEN;
	return true;
}

static bool scan_escape(struct scanner *s)
{
	unsigned char c = peek(s, 1);
	if (c == 'u')
		return scan_unicode_escape(s);
	if (c == 0 || strchr("\"\\/bfnrt", c) == NULL)
		return fail(s, "an escape is malformed");
	s->at += 2;
	return true;
}

/* Eight bytes at once: the high bit is set in the first byte that is not plain, and in none before it. */
static uint64_t mark_special(uint64_t bytes)
{
	const uint64_t each = UINT64_C(0x0101010101010101);
	uint64_t control = bytes - each * 0x20;
	uint64_t quote = (bytes ^ each * '"') - each;
	uint64_t backslash = (bytes ^ each * '\\') - each;
	return (bytes | control | quote | backslash) & each * 0x80;
}

size_t json_scan_plain(struct str text, size_t at)
{
	uint64_t bytes;
	while (text.len - at >= sizeof(bytes)) {
		memcpy(&bytes, text.p + at, sizeof(bytes));
		uint64_t special = mark_special(le64toh(bytes));
		if (special != 0)
			return at + (size_t)__builtin_ctzll(special) / 8;
		at += sizeof(bytes);
	}
	while (at < text.len && is_plain[(unsigned char)text.p[at]])
		at++;
	return at;
}

static bool scan_string(struct scanner *s)
{
	s->at++;
	while ((s->at = json_scan_plain(s->text, s->at)) < s->text.len) {
		unsigned char c = (unsigned char)s->text.p[s->at];
		if (c == '"') {
			s->at++;
			return true;
		}
		if (c == '\\') {
			if (!scan_escape(s))
				return false;
		} else if (c < 0x20) {
			return fail(s, "a control character stands in a string");
		} else {
			size_t len = str_utf8_sequence_len(str_skip(s->text, s->at));
			if (len == 0)
				return fail(s, "a string is no UTF-8");
			s->at += len;
		}
	}
	return fail(s, "the text ends within a string");
}

/* Every value but the first follows a comma or an opening bracket. */
static bool begin_value(struct scanner *s)
{
	s->at++;
	return ++s->value_count <= JSON_VALUES_MAX || fail(s, "the text holds too many values");
}

static bool open_bracket(struct scanner *s)
{
	if (s->depth == JSON_DEPTH_MAX)
		return fail(s, "the text nests too deep");
	s->depth++;
	return begin_value(s);
}

static bool close_bracket(struct scanner *s)
{
	if (s->depth == 0)
		return fail(s, "a bracket is closed that was not opened");
	s->depth--;
	s->at++;
	return true;
}

static bool scan_next(struct scanner *s)
{
	unsigned char c = (unsigned char)s->text.p[s->at];
	switch (c) {
	case '"':
		return scan_string(s);
	case ',':
		return begin_value(s);
	case '{':
	case '[':
		return open_bracket(s);
	case '}':
	case ']':
		return close_bracket(s);
	case '-':
	case '0' ... '9':
		return scan_number(s);
	default:
		break;
	}
	if (c < 0x20 && c != '\t' && c != '\n' && c != '\r')
		return fail(s, "a control character stands between the values");
	s->at++;
	return true;
}

static bool scan(struct scanner *s)
{
	bool good = true;
	while (good && s->at < s->text.len)
		good = scan_next(s);
	if (good && s->depth != 0)
		return fail(s, "the text ends too early");
	return good;
}

const char *json_scan(struct str text, size_t *ret_at, bool *ret_replaces)
{
	struct scanner s = {.text = text};
	if (!scan(&s)) {
		*ret_at = s.at;
		return s.problem;
	}
	*ret_replaces = s.replaces;
	return NULL;
}

void json_scan_replace(char *text, size_t len)
{
	struct scanner s = {.text = {text, len}, .copy = text};
	(void)scan(&s);
}

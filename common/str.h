// SPDX-License-Identifier: Apache-2.0
/*
 * struct str: a view of text that somebody else owns, pointer and length. It need not end in NUL,
 * so it can point into a frame. p == NULL means "absent", which is not the same as empty where a
 * field distinguishes them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct str {
	const char *p;
	size_t len;
};

#define STR(literal) ((struct str){(literal), sizeof(literal) - 1})
#define STR_NONE     ((struct str){NULL, 0})
/* For printf("%.*s", STR_FMT(s)). Lengths are bounded by frame limits, far below INT_MAX. */
#define STR_FMT(s) (int)(s).len, (s).p != NULL ? (s).p : ""

/* A view of a C string; NULL gives an absent one. */
static inline struct str str_from(const char *text)
{
	return (struct str){text, text != NULL ? strlen(text) : 0};
}

static inline bool str_is_empty(struct str s)
{
	return s.len == 0;
}

/* Which length is asked is all the same, but gcc 12 at -O3 sees that memcmp() is not called for STR_NONE only where it is the one of b. */
static inline bool str_eq(struct str a, struct str b)
{
	return a.len == b.len && (b.len == 0 || memcmp(a.p, b.p, b.len) == 0);
}

static inline bool str_eq_c(struct str a, const char *b)
{
	return str_eq(a, str_from(b));
}

/* Bytewise order, a prefix before what it begins; absent equals empty. */
static inline int str_cmp(struct str a, struct str b)
{
	size_t len = a.len < b.len ? a.len : b.len;
	int order = len != 0 ? memcmp(a.p, b.p, len) : 0;
	if (order != 0)
		return order;
	return (a.len > b.len) - (a.len < b.len);
}

static inline bool str_starts_with(struct str s, struct str prefix)
{
	return s.len >= prefix.len && (prefix.len == 0 || memcmp(s.p, prefix.p, prefix.len) == 0);
}

static inline bool str_ends_with(struct str s, struct str suffix)
{
	return s.len >= suffix.len &&
	       (suffix.len == 0 || memcmp(s.p + (s.len - suffix.len), suffix.p, suffix.len) == 0);
}

/* Where the first c of s stands; NULL: nowhere, or s is absent, which memchr() must not be asked. */
static inline const char *str_find(struct str s, char c)
{
	return s.len != 0 ? memchr(s.p, c, s.len) : NULL;
}

/* Copies s, without a NUL, to where there is room for it; nothing when it is empty or absent, for
 * which memcpy() must not be called. */
static inline void str_put(void *to, struct str s)
{
	if (s.len != 0)
		memcpy(to, s.p, s.len);
}

/* Texts one after the other, as the two arguments of functions that take parts. */
#define STR_PARTS(...)                     \
	(const struct str[]){__VA_ARGS__}, \
		sizeof((const struct str[]){__VA_ARGS__}) / sizeof(struct str)

static inline size_t str_parts_len(const struct str *parts, size_t count)
{
	size_t len = 0;
	for (size_t i = 0; i < count; i++)
		len += parts[i].len;
	return len;
}

/* Copies all of them, without a NUL, to where there is room for them. */
static inline void str_put_parts(void *to, const struct str *parts, size_t count)
{
	char *at = to;
	for (size_t i = 0; i < count; i++) {
		str_put(at, parts[i]);
		at += parts[i].len;
	}
}

/* Likewise, and ends them with a NUL; `room` is enough for both. A view of what is there now. */
struct str str_join(char *to, size_t room, const struct str *parts, size_t count);

enum { STR_UINT_LEN = 20 /* digits of a number of 64 bits */ };

/* In decimal digits, which stand at the end of `digits`. */
struct str str_from_uint(uint64_t value, char digits[STR_UINT_LEN]);

/* The last `len` of its hexadecimal digits, in lower case, with leading zeros. */
struct str str_from_hex(uint64_t value, size_t len, char *digits);

/* The rest of s from `from` on; empty when from is beyond the end. */
static inline struct str str_skip(struct str s, size_t from)
{
	if (from >= s.len)
		return (struct str){s.p != NULL ? s.p + s.len : NULL, 0};
	return (struct str){s.p + from, s.len - from};
}

/* What stands before the first c of s; all of s where there is none. */
static inline struct str str_before(struct str s, char c)
{
	const char *at = str_find(s, c);
	return (struct str){s.p, at != NULL ? (size_t)(at - s.p) : s.len};
}

/* The same, taken off *rest together with that c. */
static inline struct str str_cut(struct str *rest, char c)
{
	struct str before = str_before(*rest, c);
	bool is_all = before.len == rest->len;
	*rest = str_skip(*rest, is_all ? before.len : before.len + 1);
	return before;
}

/* Heap copy with a NUL behind it; the caller frees it. */
char *str_dup(struct str s);
/* Puts a heap copy in the place of another one; NULL for an empty text. */
void str_set(char **text, struct str with);
/* Without the blanks, tabs and line ends around it. */
struct str str_trim(struct str s);
/* Length of the well-formed UTF-8 sequence that s begins with; 0 when there is none, or a NUL. */
size_t str_utf8_sequence_len(struct str s);
/* As str_dup(), with U+FFFD in place of every byte that is NUL or no part of well-formed UTF-8. */
char *str_dup_utf8(struct str s);
/* True when s is well-formed UTF-8 without NUL (RFC 3629: no surrogates, no overlong forms, at most
 * U+10FFFF). */
bool str_is_utf8(struct str s);

/* The end of the text, with at most len_max bytes: from the beginning of a line, or else of a word, where neither costs more than half of that. */
struct str str_last_lines(struct str s, char line_end, size_t len_max);
/* Whole of s as a decimal number within [min, max]; nothing else is accepted (no sign unless min <
 * 0, no spaces, no leading zeros other than "0" itself). */
bool str_to_int(struct str s, int64_t min, int64_t max, int64_t *ret_value);

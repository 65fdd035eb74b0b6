// SPDX-License-Identifier: Apache-2.0
#include "proto/frame.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

struct check_case {
	const char *name;
	const char *bytes;
	size_t len;
	const char *want; /* NULL: good */
};
#define CASE(name, bytes, want)                      \
	{                                            \
		name, bytes, sizeof(bytes) - 1, want \
	}

static void check_finds_what_lies(void **state)
{
	(void)state;
	static const char beyond[] = "a length beyond the end of the frame";
	static const char truncated[] = "truncated or no msgpack";
	static const struct check_case cases[] = {
		CASE("nil", "\xc0", NULL),
		CASE("small numbers", "\x93\x00\x7f\xff", NULL),
		CASE("all wide numbers",
			"\x98\xcc\1\xcd\1\2\xce\1\2\3\4\xcf\1\2\3\4\5\6\7\1\xd0\1\xd1\1\1\xd2\1\1\1"
			"\1\xd3\1\1\1\1\1\1\1\1",
			NULL),
		CASE("floats", "\x92\xca\1\2\3\4\xcb\1\2\3\4\5\6\7\1", NULL),
		CASE("ext", "\x93\xd4\1\1\xc7\2\5\1\1\xd6\1\1\2\3\4", NULL),
		CASE("bin is not text", "\xc4\2\xff\0", NULL),
		CASE("empty map and array", "\x92\x80\x90", NULL),
		CASE("nothing", "", truncated),
		CASE("0xc1", "\xc1", truncated),
		CASE("array without items", "\x91", beyond),
		CASE("number cut", "\xce\1\2\3", beyond),
		CASE("length cut", "\xda\1", truncated),
		CASE("map of 33 million", "\xdf\x02\x00\x00\x00", beyond),
		CASE("array of 4 billion", "\xdd\xff\xff\xff\xff", beyond),
		CASE("text of 4 GB", "\xdb\xff\xff\xff\xff", beyond),
		CASE("ext of 4 GB", "\xc9\xff\xff\xff\xff\1", beyond),
		CASE("bytes behind", "\xc0\xc0", "bytes behind the value"),
		CASE("latin1", "\xa1\xe9", "text that is no UTF-8 or holds NUL"),
		CASE("NUL", "\xa1\0", "text that is no UTF-8 or holds NUL"),
		CASE("surrogate", "\xa3\xed\xa0\x80", "text that is no UTF-8 or holds NUL"),
		CASE("overlong", "\xa2\xc0\xaf", "text that is no UTF-8 or holds NUL"),
		CASE("depth 16",
			"\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\xc0",
			NULL),
		CASE("depth 17",
			"\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\xc0",
			"nested too deeply"),
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct check_case *c = &cases[i];
		/* From the heap and exactly as long, so that a read beyond the end is found. */
		char *copy = malloc(c->len + 1);
		assert_non_null(copy);
		memcpy(copy, c->bytes, c->len);
		copy = realloc(copy, c->len != 0 ? c->len : 1);
		const char *got = frame_check((struct str){copy, c->len});
		if ((got == NULL) != (c->want == NULL) ||
			(got != NULL && strcmp(got, c->want) != 0))
			fail_msg("%s: got %s, want %s", c->name, got != NULL ? got : "good",
				c->want != NULL ? c->want : "good");
		free(copy);
	}
}

static void check_counts_values(void **state)
{
	(void)state;
	size_t count = FRAME_ELEMENTS_MAX;
	char *bytes = calloc(1, count + 5);
	assert_non_null(bytes);
	bytes[0] = (char)0xdd;
	bytes[1] = (char)((count - 1) >> 24);
	bytes[2] = (char)((count - 1) >> 16);
	bytes[3] = (char)((count - 1) >> 8);
	bytes[4] = (char)(count - 1);
	assert_null(frame_check((struct str){bytes, count - 1 + 5}));
	bytes[2] = (char)(count >> 16);
	bytes[3] = (char)(count >> 8);
	bytes[4] = (char)count;
	assert_string_equal(frame_check((struct str){bytes, count + 5}), "too many values");
	free(bytes);
}

static void next_waits_for_whole_frames(void **state)
{
	(void)state;
	static const char bytes[] = "\0\0\0\2ab\0\0\0\1c\0\0\0\3def";
	static const char *const want[] = {"ab", "c", "def"};
	for (size_t step = 1; step < sizeof(bytes); step++) {
		struct buf in;
		struct str payload;
		size_t frames = 0;
		buf_init(&in, 64);
		for (size_t at = 0; at < sizeof(bytes) - 1; at += step) {
			size_t left = sizeof(bytes) - 1 - at;
			assert_int_equal(buf_append(&in, bytes + at, left < step ? left : step), 0);
			enum frame_outcome outcome;
			while ((outcome = frame_next(&in, &payload)) == FRAME_READY) {
				assert_true(str_eq_c(payload, want[frames++]));
				buf_consume(&in, frame_len_of(payload));
			}
			assert_int_equal(outcome, FRAME_PARTIAL);
		}
		assert_int_equal(frames, 3);
		buf_fini(&in);
	}
}

static void next_refuses_lengths_at_the_head(void **state)
{
	(void)state;
	struct buf in;
	struct str payload;
	buf_init(&in, 64);
	assert_int_equal(buf_append(&in, "\0\x40\0\1", 4), 0);
	assert_int_equal(frame_next(&in, &payload), FRAME_TOO_LONG);
	buf_clear(&in);
	assert_int_equal(buf_append(&in, "\0\x40\0\0", 4), 0);
	assert_int_equal(frame_next(&in, &payload), FRAME_PARTIAL);
	buf_clear(&in);
	assert_int_equal(buf_append(&in, "\0\0\0\0", 4), 0);
	assert_int_equal(frame_next(&in, &payload), FRAME_EMPTY);
	buf_fini(&in);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(check_finds_what_lies),
		cmocka_unit_test(check_counts_values),
		cmocka_unit_test(next_waits_for_whole_frames),
		cmocka_unit_test(next_refuses_lengths_at_the_head),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

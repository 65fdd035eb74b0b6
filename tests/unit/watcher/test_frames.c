// SPDX-License-Identifier: Apache-2.0
#include "watcher/frames.h"

#include "common/xalloc.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

/* Lines that came, each ended by '|'. */
struct seen {
	struct buf text;
	int stop_after; /* < 0: never */
	int count;
};

static int take_line(void *ctx, struct str line)
{
	struct seen *seen = ctx;
	assert_int_equal(buf_append_str(&seen->text, line), 0);
	assert_int_equal(buf_append(&seen->text, "|", 1), 0);
	return seen->count++ == seen->stop_after ? -ECANCELED : 0;
}

static struct seen seen_new(void)
{
	struct seen seen = {.stop_after = -1};
	buf_init(&seen.text, 1 << 20);
	return seen;
}

static void gives_the_same_lines_however_they_are_split(void **state)
{
	static const char text[] =
		"{\"a\":1}\n\n{\"b\":\"zwei\xc3\xa4\"}\nlong long long line\nx\n";
	(void)state;
	for (int round = 0; round < 500; round++) {
		struct frames frames;
		struct seen seen = seen_new();
		size_t at = 0;
		frames_init(&frames, 100, round % 2 == 0);
		while (at < sizeof(text) - 1) {
			size_t step = 1 + (size_t)(rand() % 9);
			if (step > sizeof(text) - 1 - at)
				step = sizeof(text) - 1 - at;
			assert_int_equal(frames_feed(&frames, (struct str){text + at, step},
						 take_line, &seen),
				0);
			at += step;
		}
		assert_true(str_eq_c(buf_str(&seen.text),
			"{\"a\":1}|{\"b\":\"zwei\xc3\xa4\"}|long long long line|x|"));
		buf_fini(&seen.text);
		frames_fini(&frames);
	}
}

static void refuses_a_line_over_its_limit_in_one_piece_and_in_many(void **state)
{
	(void)state;
	for (size_t step = 1; step <= 64; step *= 4) {
		struct frames frames;
		struct seen seen = seen_new();
		char line[65];
		int err = 0;
		memset(line, 'x', sizeof(line));
		line[64] = '\n';
		frames_init(&frames, 63, false);
		for (size_t at = 0; at < sizeof(line) && err == 0; at += step) {
			size_t len = sizeof(line) - at < step ? sizeof(line) - at : step;
			err = frames_feed(&frames, (struct str){line + at, len}, take_line, &seen);
		}
		assert_int_equal(err, -EMSGSIZE);
		assert_int_equal(seen.count, 0);
		buf_fini(&seen.text);
		frames_fini(&frames);
	}
}

static void stops_when_told(void **state)
{
	(void)state;
	struct frames frames;
	struct seen seen = seen_new();
	seen.stop_after = 1;
	frames_init(&frames, 100, false);
	assert_int_equal(frames_feed(&frames, STR("a\nb\nc\n"), take_line, &seen), -ECANCELED);
	assert_true(str_eq_c(buf_str(&seen.text), "a|b|"));
	buf_fini(&seen.text);
	frames_fini(&frames);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gives_the_same_lines_however_they_are_split),
		cmocka_unit_test(refuses_a_line_over_its_limit_in_one_piece_and_in_many),
		cmocka_unit_test(stops_when_told),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

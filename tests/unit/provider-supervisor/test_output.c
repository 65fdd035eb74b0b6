// SPDX-License-Identifier: Apache-2.0
/* What a proxy writes, and how much of it stays in memory. */
#include "provider-supervisor/output.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { PIECE_LEN = 64 * 1024, FLOOD_LEN = 64 * 1024 * 1024 };

static char dir[] = "/tmp/sluice-output-XXXXXX";
static char path[64];
static int told;

static void on_words(void *ctx)
{
	(void)ctx;
	told++;
}

static int setup(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/proxy.log", dir);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	(void)unlink(path);
	return rmdir(dir);
}

static void turn(struct ev_loop *loop)
{
	usleep(1000);
	ev_run(loop, EVRUN_NOWAIT);
}

/* Sixty-four megabytes in little more than a second; the file is not there before. */
static void a_flood_does_not_fill_the_memory(void **state)
{
	static char piece[PIECE_LEN];
	struct ev_loop *loop = ev_default_loop(0);
	struct output *output = output_new(loop, path, false, on_words, NULL);
	struct stat st;
	off_t longest = 0;
	(void)state;
	memset(piece, 'x', sizeof(piece));
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	output_mark(output);
	for (ev_tstamp end = ev_time() + 0.7; ev_time() < end;)
		turn(loop); /* it is found */
	for (size_t written = 0; written < FLOOD_LEN; written += PIECE_LEN) {
		assert_int_equal(write(fd, piece, PIECE_LEN), PIECE_LEN);
		turn(loop);
		assert_int_equal(fstat(fd, &st), 0);
		longest = st.st_size > longest ? st.st_size : longest;
	}
	if (longest > 4 * OUTPUT_LEN_MAX)
		fail_msg("the file grew to %lld bytes", (long long)longest);
	/* What comes then is told as before. */
	int before = told;
	assert_int_equal(write(fd, "the end", 7), 7);
	for (ev_tstamp end = ev_time() + 10; told == before && ev_time() < end;)
		turn(loop);
	assert_int_not_equal(told, before);
	const char *words = output_last(output);
	assert_string_equal(words + strlen(words) - 7, "the end");
	close(fd);
	output_free(output);
}

/* What is repeated is longer than what is kept of it. */
static void the_last_words_begin_with_a_whole_one(void **state)
{
	static const struct {
		const char *name;
		const char *first;
		const char *repeated;
		const char *begins;
		size_t len_min;
	} cases[] = {
		{"short", "one two", "", "one two", 7},
		{"lines", "", "[alert] the worker has died\n", "[alert] the worker", 2000},
		{"a line of words", "", "worker ", "worker worker", 2000},
		{"a line with tabs", "", "directive\t", "directive directive", 2000},
		{"no blank at all", "", "xyz", "", OUTPUT_LAST_LEN_MAX},
	};
	struct ev_loop *loop = ev_default_loop(0);
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		/* Each place in what is repeated is once where the cut falls. */
		for (size_t shift = 0; shift < 40; shift++) {
			FILE *file = fopen(path, "w");
			assert_non_null(file);
			struct output *output = output_new(loop, path, false, on_words, NULL);
			fprintf(file, "%s", cases[i].first);
			for (size_t at = 0; cases[i].repeated[0] != '\0' && at < 4000;)
				at += (size_t)fprintf(file, "%s", cases[i].repeated);
			fprintf(file, "%.*s", cases[i].repeated[0] != '\0' ? (int)shift : 0,
				"1234567890123456789012345678901234567890");
			assert_int_equal(fclose(file), 0);
			output_look(output);
			const char *words = output_last(output);
			if (strncmp(words, cases[i].begins, strlen(cases[i].begins)) != 0 ||
				strlen(words) < cases[i].len_min)
				fail_msg("%s: %zu bytes from \"%.30s\"", cases[i].name,
					strlen(words), words);
			output_free(output);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_flood_does_not_fill_the_memory),
		cmocka_unit_test(the_last_words_begin_with_a_whole_one),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}

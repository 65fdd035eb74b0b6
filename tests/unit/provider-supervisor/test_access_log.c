// SPDX-License-Identifier: Apache-2.0
/* The way of the access log from the proxy's file to a reader. */
#include "provider-supervisor/access_log.h"

#include "common/xalloc.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { CONTENT_MAX = 1024 * 1024 };

static char dir[64];
static char path[96];
static char place[96];
static char to[96];
static char moved[96];
static char content[CONTENT_MAX];

static int setup(void **state)
{
	(void)state;
	strcpy(dir, "/dev/shm/sluice-access-XXXXXX");
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/in", dir);
	snprintf(place, sizeof(place), "%s/in.at", dir);
	snprintf(to, sizeof(to), "%s/out", dir);
	snprintf(moved, sizeof(moved), "%s/out.1", dir);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	(void)unlink(path);
	(void)unlink(place);
	(void)unlink(to);
	(void)unlink(moved);
	return rmdir(dir);
}

/* As a proxy does. */
static void append(const char *text)
{
	int fd = open(path, O_WRONLY | O_APPEND | O_CREAT, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static const char *content_of(const char *file)
{
	int fd = open(file, O_RDONLY);
	ssize_t got = fd >= 0 ? read(fd, content, sizeof(content) - 1) : 0;
	content[got] = 0;
	if (fd >= 0)
		close(fd);
	return content;
}

static off_t blocks_of(const char *file)
{
	struct stat st;
	assert_int_equal(stat(file, &st), 0);
	return st.st_blocks * 512;
}

static void whole_lines_are_copied_once(void **state)
{
	struct ev_loop *loop = ev_default_loop(0);
	struct access_log *log = access_log_new(loop, path, to);
	(void)state;
	access_log_copy(log);
	append("one\ntw");
	access_log_copy(log);
	assert_string_equal(content_of(to), "one\n");
	append("o\n");
	access_log_copy(log);
	access_log_copy(log);
	assert_string_equal(content_of(to), "one\ntwo\n");
	/* The next process goes on behind them. */
	access_log_free(log);
	append("three\n");
	log = access_log_new(loop, path, to);
	access_log_copy(log);
	assert_string_equal(content_of(to), "one\ntwo\nthree\n");
	access_log_free(log);
}

static void a_file_that_was_renamed_is_made_anew(void **state)
{
	struct access_log *log = access_log_new(ev_default_loop(0), path, to);
	(void)state;
	append("one\n");
	access_log_copy(log);
	assert_int_equal(rename(to, moved), 0);
	append("two\n");
	access_log_copy(log);
	assert_string_equal(content_of(moved), "one\n");
	assert_string_equal(content_of(to), "two\n");
	access_log_free(log);
}

static void a_place_that_cannot_be_is_the_beginning(void **state)
{
	(void)state;
	append("one\n");
	int fd = open(place, O_WRONLY | O_CREAT, 0600);
	assert_int_equal(write(fd, "99\n", 3), 3);
	close(fd);
	struct access_log *log = access_log_new(ev_default_loop(0), path, to);
	access_log_copy(log);
	assert_string_equal(content_of(to), "one\n");
	/* Somebody empties the file. */
	assert_int_equal(truncate(path, 0), 0);
	append("2\n");
	access_log_copy(log);
	assert_string_equal(content_of(to), "one\n2\n");
	access_log_free(log);
}

static void what_was_copied_takes_no_memory(void **state)
{
	static char line[1024 + 1];
	struct access_log *log = access_log_new(ev_default_loop(0), path, "/dev/null");
	(void)state;
	memset(line, 'x', 1023);
	line[1023] = '\n';
	for (int i = 0; i < 4096; i++)
		append(line);
	assert_true(blocks_of(path) >= 4096 * 1024);
	access_log_copy(log);
	assert_true(blocks_of(path) <= 4096);
	access_log_free(log);
}

/* Nobody reads the pipe: we do not wait, keep the newest, and give up no line but whole ones. */
static char taken[256];

static void take(void *ctx, struct str lines)
{
	size_t len = strlen(taken);
	(void)ctx;
	assert_true(len + lines.len < sizeof(taken));
	str_put(taken + len, lines);
	taken[len + lines.len] = '\0';
}

/* Whoever takes lines gets each once; the next proxy has another file, and what the one before has written is not lost. */
static void lines_are_taken(void **state)
{
	(void)state;
	taken[0] = '\0';
	struct access_log *log = access_log_new_taken(ev_default_loop(0), path, false, take, NULL);
	append("a\nb\nhal");
	access_log_copy(log);
	assert_string_equal(taken, "a\nb\n");
	append("f\n");
	access_log_copy(log);
	append("last\n");
	access_log_renew(log);
	assert_int_equal(access(path, F_OK), -1);
	append("new\n");
	access_log_free(log);
	assert_string_equal(taken, "a\nb\nhalf\nlast\nnew\n");
}

/* A proxy that does not append goes on where it was when the file was emptied. */
static void lines_behind_a_place(void **state)
{
	(void)state;
	taken[0] = '\0';
	int fd = open(path, O_WRONLY | O_CREAT, 0600);
	struct access_log *log = access_log_new_taken(ev_default_loop(0), path, false, take, NULL);
	assert_int_equal(write(fd, "a\n", 2), 2);
	access_log_copy(log);
	assert_int_equal(ftruncate(fd, 0), 0);
	access_log_copy(log);
	assert_int_equal(write(fd, "b\n", 2), 2);
	access_log_free(log);
	close(fd);
	assert_string_equal(taken, "a\nb\n");
}

/* One that appends gets another file when somebody has removed it: what is in it is new, wherever the last place was. */
static void a_file_that_is_new(void **state)
{
	(void)state;
	taken[0] = '\0';
	struct access_log *log = access_log_new_taken(ev_default_loop(0), path, true, take, NULL);
	append("a\nb\n");
	access_log_copy(log);
	assert_int_equal(unlink(path), 0);
	append("c\nd\ne\n");
	access_log_copy(log);
	access_log_free(log);
	assert_string_equal(taken, "a\nb\nc\nd\ne\n");
}

static void a_reader_that_hangs_costs_only_lines(void **state)
{
	int ends[2];
	static char line[64 * 1024 + 1];
	int out = dup(STDOUT_FILENO);
	(void)state;
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(dup2(ends[1], STDOUT_FILENO), STDOUT_FILENO);
	struct access_log *log = access_log_new(ev_default_loop(0), path, "stdout");
	memset(line, 'x', sizeof(line) - 2);
	line[sizeof(line) - 2] = '\n';
	for (int i = 0; i < 1100; i++)
		append(line);
	access_log_copy(log);
	assert_true(blocks_of(path) <= ACCESS_LOG_WAITING_MAX);
	append("last\n");
	/* Somebody reads again. */
	size_t len = 0;
	bool is_over = false;
	while (!is_over) {
		access_log_copy(log);
		ssize_t got = read(ends[0], content, sizeof(content));
		assert_true(got > 0);
		len += (size_t)got;
		is_over = got >= 5 && memcmp(content + got - 5, "last\n", 5) == 0;
	}
	dup2(out, STDOUT_FILENO);
	close(out);
	close(ends[0]);
	close(ends[1]);
	assert_in_range(len, ACCESS_LOG_WAITING_MAX / 4, ACCESS_LOG_WAITING_MAX);
	access_log_free(log);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(whole_lines_are_copied_once, setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_file_that_was_renamed_is_made_anew, setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_place_that_cannot_be_is_the_beginning, setup, teardown),
		cmocka_unit_test_setup_teardown(what_was_copied_takes_no_memory, setup, teardown),
		cmocka_unit_test_setup_teardown(lines_are_taken, setup, teardown),
		cmocka_unit_test_setup_teardown(lines_behind_a_place, setup, teardown),
		cmocka_unit_test_setup_teardown(a_file_that_is_new, setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_reader_that_hangs_costs_only_lines, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

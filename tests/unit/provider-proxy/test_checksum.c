// SPDX-License-Identifier: Apache-2.0
#include "provider-proxy/checksum.h"
#include "common/files.h"
#include "provider-proxy/rowfile.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

static char folder[32];
static char path[64];

static int set_up(void **unused)
{
	(void)unused;
	snprintf(folder, sizeof(folder), "/tmp/sluice-whole-XXXXXX");
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/file", folder);
	return 0;
}

static int tear_down(void **unused)
{
	(void)unused;
	unlink(path);
	rmdir(path);
	return rmdir(folder);
}

static void write_content(struct str content)
{
	FILE *file = fopen(path, "we");
	assert_non_null(file);
	assert_int_equal(fwrite(content.p, 1, content.len, file), content.len);
	assert_int_equal(fclose(file), 0);
}

static void a_whole_file_is_read_without_the_line(void **unused)
{
	struct buf text;
	(void)unused;
	buf_init(&text, 1024);
	assert_int_equal(buf_append_str(&text, STR("kept\n")), 0);
	assert_int_equal(buf_append_str(&text, STR("one\ntwo\n")), 0);
	assert_int_equal(checksum_append(&text, 5), 0);
	write_content(str_skip(buf_str(&text), 5));
	buf_cut(&text, 5);
	assert_null(checksum_read(path, &text));
	assert_true(str_eq_c(buf_str(&text), "kept\none\ntwo\n"));
	buf_fini(&text);
}

static void an_empty_content_is_whole(void **unused)
{
	struct buf text;
	(void)unused;
	assert_int_equal(checksum_write(path, STR(""), 0600), 0);
	buf_init(&text, 1024);
	assert_null(checksum_read(path, &text));
	assert_int_equal(buf_len(&text), 0);
	assert_int_equal(checksum_append(&text, 0), 0);
	assert_int_equal(files_write(path, buf_str(&text), 0600), 0);
	buf_clear(&text);
	assert_null(checksum_read(path, &text));
	buf_fini(&text);
}

static void a_file_is_synced_after_it_was_written(void **unused)
{
	struct buf text;
	(void)unused;
	assert_int_equal(checksum_write_loose(path, STR("later\n"), 0600), 0);
	assert_int_equal(files_sync(path), 0);
	buf_init(&text, 1024);
	assert_null(checksum_read(path, &text));
	assert_true(str_eq_c(buf_str(&text), "later\n"));
	buf_fini(&text);
	assert_int_equal(files_remove(path), 0);
	assert_int_equal(files_sync(path), -ENOENT);
}

/* Whatever is cut off, and whichever byte is another. */
static void damage_is_seen(void **unused)
{
	struct buf text;
	struct buf read;
	(void)unused;
	buf_init(&text, 1024);
	buf_init(&read, 1024);
	assert_int_equal(buf_append_str(&text, STR("frontend x\n\tbind :80\n")), 0);
	assert_int_equal(checksum_append(&text, 0), 0);
	for (size_t len = 0; len < buf_len(&text); len++) {
		write_content((struct str){buf_str(&text).p, len});
		assert_string_equal(checksum_read(path, &read),
			len == 0 ? "is empty" : "is not as it was written");
	}
	for (size_t i = 0; i < buf_len(&text); i++) {
		text.data[i] ^= 1;
		write_content(buf_str(&text));
		assert_non_null(checksum_read(path, &read));
		text.data[i] ^= 1;
	}
	assert_int_equal(buf_len(&read), 0);
	buf_fini(&text);
	buf_fini(&read);
}

static void what_is_no_file_of_ours_is_told(void **unused)
{
	struct buf read;
	(void)unused;
	buf_init(&read, 1024);
	assert_string_equal(checksum_read(path, &read), "is missing");
	assert_int_equal(mkdir(path, 0700), 0);
	assert_string_equal(checksum_read(path, &read), "is no file");
	rmdir(path);
	write_content(STR("x"));
	if (chown(path, 65534, 65534) == 0)
		assert_string_equal(checksum_read(path, &read), "belongs to another user");
	buf_fini(&read);
}

/* ---- files of rows ---- */

struct table {
	struct rows *rows;
	struct rowfile *file;
};

static void put(struct table *table, const char *key, const char *value)
{
	rows_want(table->rows, ROW_WHOLE, str_from(key), str_from(value));
	struct row *row = rows_find(table->rows, ROW_WHOLE, str_from(key));
	assert_int_equal(rowfile_put(table->file, row), 0);
	rows_has(table->rows, row, row_wanted(row));
}

static void count_row(void *ctx, struct str key, struct str value)
{
	size_t *count = ctx;
	(void)key;
	(void)value;
	++*count;
}

static void salvage_leaves(struct table *table, size_t want)
{
	size_t count = 0;
	assert_int_equal(rowfile_salvage(table->file), 0);
	assert_null(rowfile_problem(table->file));
	assert_int_equal(rowfile_read(table->file, count_row, &count), 0);
	assert_int_equal(count, want);
}

static void rows_are_salvaged(void **unused)
{
	static const struct {
		const char *what;
		size_t cut;      /* bytes from the end */
		const char *add; /* behind what is left */
		const char *problem;
		size_t left;
	} cases[] = {
		{"whole", 0, "", NULL, 3},
		{"a line that was being written", 0, "torn", NULL, 3},
		{"the last row", 4, "", "is cut off", 2},
		{"half a row", 2, "", "is cut off", 2},
		{"not a row", 0, "\x01\xff\n", "is not as it was written", 3},
		{"a key alone", 0, "key\n", "is not as it was written", 3},
	};
	struct table table = {.rows = rows_new()};
	struct buf whole;
	(void)unused;
	table.file = rowfile_new(table.rows, ROW_WHOLE, path);
	assert_string_equal(rowfile_problem(table.file), "is missing");
	salvage_leaves(&table, 0);
	put(&table, "a", "1");
	put(&table, "gone", "1");
	put(&table, "b", "1");
	put(&table, "gone", NULL);
	put(&table, "c", "2");
	buf_init(&whole, 4096);
	assert_int_equal(files_read(path, &whole), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct buf text;
		buf_init(&text, 4096);
		assert_int_equal(buf_append(&text, whole.data, buf_len(&whole) - cases[i].cut), 0);
		assert_int_equal(buf_append_str(&text, str_from(cases[i].add)), 0);
		write_content(buf_str(&text));
		const char *problem = rowfile_problem(table.file);
		if (cases[i].problem == NULL)
			assert_null(problem);
		else
			assert_string_equal(problem, cases[i].problem);
		salvage_leaves(&table, cases[i].left);
		buf_fini(&text);
	}
	buf_fini(&whole);
	rowfile_free(table.file);
	rows_free(table.rows);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_whole_file_is_read_without_the_line, set_up, tear_down),
		cmocka_unit_test_setup_teardown(an_empty_content_is_whole, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_file_is_synced_after_it_was_written, set_up, tear_down),
		cmocka_unit_test_setup_teardown(damage_is_seen, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_is_no_file_of_ours_is_told, set_up, tear_down),
		cmocka_unit_test_setup_teardown(rows_are_salvaged, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

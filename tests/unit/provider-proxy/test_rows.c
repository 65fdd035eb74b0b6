// SPDX-License-Identifier: Apache-2.0
#include "common/files.h"
#include "provider-proxy/rowfile.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

struct fixture {
	struct rows *rows;
	struct rowfile *file;
	char folder[32];
	char path[64];
	size_t read_count;
	char last[64];
};

static int set_up(void **ret_fixture)
{
	struct fixture *f = calloc(1, sizeof(*f));
	snprintf(f->folder, sizeof(f->folder), "/tmp/sluice-rows-XXXXXX");
	assert_non_null(mkdtemp(f->folder));
	snprintf(f->path, sizeof(f->path), "%s/map", f->folder);
	f->rows = rows_new();
	f->file = rowfile_new(f->rows, ROW_WHOLE, f->path);
	*ret_fixture = f;
	return 0;
}

static int tear_down(void **fixture)
{
	struct fixture *f = *fixture;
	rowfile_free(f->file);
	rows_free(f->rows);
	unlink(f->path);
	rmdir(f->folder);
	free(f);
	return 0;
}

static void newest_wins(void **fixture)
{
	struct fixture *f = *fixture;
	rows_want(f->rows, ROW_WHOLE, STR("a"), STR("1"));
	rows_want(f->rows, ROW_WHOLE, STR("a"), STR("2"));
	assert_int_equal(rows_dirty_count(f->rows), 1);
	struct row *row = rows_first_dirty(f->rows, ROW_WHOLE);
	assert_true(str_eq_c(row_wanted(row), "2"));
	rows_has(f->rows, row, STR("2"));
	assert_int_equal(rows_dirty_count(f->rows), 0);
	rows_want(f->rows, ROW_WHOLE, STR("a"), STR("3"));
	rows_want(f->rows, ROW_WHOLE, STR("a"), STR("2"));
	assert_int_equal(rows_dirty_count(f->rows), 0);
	rows_want(f->rows, ROW_WHOLE, STR("a"), STR_NONE);
	assert_int_equal(rows_dirty_count(f->rows), 1);
	rows_has(f->rows, rows_first_dirty(f->rows, ROW_WHOLE), STR_NONE);
	assert_null(rows_find(f->rows, ROW_WHOLE, STR("a")));
	assert_null(rows_first(f->rows, ROW_WHOLE));
}

static void what_is_found_and_not_wanted_goes(void **fixture)
{
	struct fixture *f = *fixture;
	rows_want(f->rows, ROW_PREFIX, STR("a"), STR("1"));
	rows_found(f->rows, ROW_PREFIX, STR("a"), STR("1"));
	rows_found(f->rows, ROW_PREFIX, STR("b"), STR("1"));
	assert_int_equal(rows_dirty_count(f->rows), 1);
	assert_true(str_eq_c(row_key(rows_first_dirty(f->rows, ROW_PREFIX)), "b"));
	rows_forget_has(f->rows);
	assert_int_equal(rows_dirty_count(f->rows), 1);
	assert_true(str_eq_c(row_key(rows_first_dirty(f->rows, ROW_PREFIX)), "a"));
}

static void on_row(void *ctx, struct str key, struct str value)
{
	struct fixture *f = ctx;
	f->read_count++;
	snprintf(f->last, sizeof(f->last), "%.*s=%.*s", STR_FMT(key), STR_FMT(value));
}

static void put(struct fixture *f, const char *key, const char *value)
{
	rows_want(f->rows, ROW_WHOLE, str_from(key), str_from(value));
	struct row *row = rows_find(f->rows, ROW_WHOLE, str_from(key));
	assert_int_equal(rowfile_put(f->file, row), 0);
	rows_has(f->rows, row, row_wanted(row));
}

static void a_file_is_what_is_wanted(void **fixture)
{
	struct fixture *f = *fixture;
	assert_int_equal(rowfile_read(f->file, on_row, f), -ENOENT);
	put(f, "a", "1");
	put(f, "b", "1");
	put(f, "a", "longer");
	put(f, "b", NULL);
	f->read_count = 0;
	assert_int_equal(rowfile_read(f->file, on_row, f), 0);
	assert_int_equal(f->read_count, 1);
	assert_string_equal(f->last, "a=longer");
	assert_int_equal(rowfile_sync(f->file), 0);
}

/* Meanwhile the file was written whole, as what was wanted then. */
static void what_is_wanted_again_is_put_again(void **fixture)
{
	static const char *const meanwhile[] = {NULL, "2"};
	struct fixture *f = *fixture;
	for (size_t i = 0; i < 2; i++) {
		put(f, "a", "1");
		rows_want(f->rows, ROW_WHOLE, STR("a"), str_from(meanwhile[i]));
		assert_int_equal(rowfile_write(f->file), 0);
		rows_want(f->rows, ROW_WHOLE, STR("a"), STR("1"));
		struct row *row = rows_first_dirty(f->rows, ROW_WHOLE);
		assert_non_null(row);
		assert_int_equal(rowfile_put(f->file, row), 0);
		rows_has(f->rows, row, row_wanted(row));
		assert_int_equal(rows_dirty_count(f->rows), 0);
		f->last[0] = 0;
		assert_int_equal(rowfile_read(f->file, on_row, f), 0);
		assert_string_equal(f->last, "a=1");
	}
}

static void waste_is_bounded(void **fixture)
{
	struct fixture *f = *fixture;
	struct buf content;
	char value[32];
	for (int i = 0; i < 50000; i++) {
		snprintf(value, sizeof(value), "p%d", i);
		put(f, "key", value);
	}
	buf_init(&content, 1024 * 1024);
	assert_int_equal(files_read(f->path, &content), 0);
	assert_true(buf_len(&content) < 300 * 1024);
	buf_fini(&content);
	assert_int_equal(rowfile_read(f->file, on_row, f), 0);
	assert_int_equal(f->read_count, 1);
	assert_string_equal(f->last, "key=p49999");
}

static void files_are_read_to_their_limit(void **fixture)
{
	struct fixture *f = *fixture;
	struct buf content;
	assert_int_equal(files_write(f->path, STR("12345"), 0600), 0);
	buf_init(&content, 5);
	assert_int_equal(files_read(f->path, &content), 0);
	assert_int_equal(buf_len(&content), 5);
	buf_fini(&content);
	buf_init(&content, 4);
	assert_int_equal(files_read(f->path, &content), -EMSGSIZE);
	buf_fini(&content);
	assert_string_equal(files_problem(-EROFS), "the disk is read-only");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(newest_wins, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			what_is_found_and_not_wanted_goes, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_file_is_what_is_wanted, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			what_is_wanted_again_is_put_again, set_up, tear_down),
		cmocka_unit_test_setup_teardown(waste_is_bounded, set_up, tear_down),
		cmocka_unit_test_setup_teardown(files_are_read_to_their_limit, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

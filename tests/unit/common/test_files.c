// SPDX-License-Identifier: Apache-2.0
#include "common/files.h"

#include "common/xalloc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

static char dir[] = "/tmp/sluice-test-XXXXXX";

/* File systems give the number of a removed folder to the next one. */
static void a_folder_is_told_from_one_that_takes_its_name(void **state)
{
	char *path = xasprintf("%s/folder", dir);
	assert_int_equal(mkdir(path, 0700), 0);
	int folder = files_hold_folder(path);
	assert_true(folder >= 0);
	assert_false(files_is_replaced(folder, path));
	assert_int_equal(rmdir(path), 0);
	assert_false(files_is_replaced(folder, path));
	assert_int_equal(mkdir(path, 0700), 0);
	assert_true(files_is_replaced(folder, path));
	assert_int_equal(close(folder), 0);
	assert_int_equal(rmdir(path), 0);
	free(path);
}

static void what_is_no_folder_cannot_be_held(void **state)
{
	char *path = xasprintf("%s/nothing", dir);
	assert_true(files_hold_folder(path) < 0);
	assert_true(files_hold_folder("/dev/null") < 0);
	free(path);
}

static int make_dir(void **state)
{
	return mkdtemp(dir) != NULL ? 0 : -1;
}

static int remove_dir(void **state)
{
	return rmdir(dir);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_folder_is_told_from_one_that_takes_its_name),
		cmocka_unit_test(what_is_no_folder_cannot_be_held),
	};
	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}

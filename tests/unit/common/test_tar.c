// SPDX-License-Identifier: Apache-2.0
#include "common/tar.h"

#include "common/xalloc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static char *archive_of(
	const char *const *names, const struct str *contents, size_t count, size_t *ret_len)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, ret_len);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(tar_write(out, names[i], contents[i]), 0);
	assert_int_equal(tar_end(out), 0);
	fclose(out);
	return text;
}

static void test_what_is_written_is_read(void **ctx)
{
	char long_name[301];
	(void)ctx;
	memset(long_name, 'n', 300);
	long_name[300] = '\0';
	const char *names[] = {"a/b.cfg", long_name, "empty", "block"};
	char block[512];
	memset(block, 'x', sizeof(block));
	const struct str contents[] = {STR("one\n"), STR("two"), STR_NONE, {block, sizeof(block)}};
	size_t len = 0;
	char *text = archive_of(names, contents, 4, &len);
	struct str archive = {text, len};
	struct tar_file file;
	assert_int_equal(len % 512, 0);
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(tar_next(&archive, &file), TAR_FILE);
		assert_true(str_eq_c(file.name, names[i]));
		assert_int_equal(file.content.len, contents[i].len);
		assert_true(file.content.len == 0 ||
			    memcmp(file.content.p, contents[i].p, contents[i].len) == 0);
	}
	assert_int_equal(tar_next(&archive, &file), TAR_END);
	free(text);
}

/* Whatever is cut off, or changed in a header, is found out. */
static void test_what_is_damaged_is_refused(void **ctx)
{
	const char *names[] = {"a"};
	const struct str contents[] = {STR("text")};
	size_t len = 0;
	char *text = archive_of(names, contents, 1, &len);
	struct tar_file file;
	(void)ctx;
	for (size_t cut = 0; cut < 1024; cut++) {
		char *copy = xmalloc(cut + 1);
		memcpy(copy, text, cut);
		struct str archive = {copy, cut};
		assert_int_equal(tar_next(&archive, &file), TAR_BAD);
		free(copy);
	}
	for (size_t at = 0; at < 500; at++) {
		struct str archive = {text, len};
		text[at] ^= 0x10;
		/* A blank in place of a leading zero is the same sum. */
		if (at < 148 || at > 155)
			assert_int_equal(tar_next(&archive, &file), TAR_BAD);
		text[at] ^= 0x10;
	}
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_written_is_read),
		cmocka_unit_test(test_what_is_damaged_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

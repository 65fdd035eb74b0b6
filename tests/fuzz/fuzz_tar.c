// SPDX-License-Identifier: Apache-2.0
/* Archives, as they are and with headers made right: whatever files are read are views of the archive, and they are the same when written and read again. */
#include "common/must.h"
#include "common/tar.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
	BLOCK_LEN = 512,
	SIZE_AT = 124,
	SIZE_LEN = 12,
	CHECKSUM_AT = 148,
	CHECKSUM_LEN = 8,
	MAGIC_AT = 257
};

/* Without this nearly nothing gets behind the checksum. */
static void mend_header(char *block)
{
	unsigned sum = 0;
	memcpy(block + MAGIC_AT, "ustar", 5);
	memset(block + CHECKSUM_AT, ' ', CHECKSUM_LEN);
	for (size_t i = 0; i < BLOCK_LEN; i++)
		sum += (unsigned char)block[i];
	(void)snprintf(block + CHECKSUM_AT, CHECKSUM_LEN, "%06o", sum);
}

static void mend_headers(char *text, size_t len)
{
	static const char zeros[BLOCK_LEN];
	size_t at = 0;
	while (len - at >= BLOCK_LEN && memcmp(text + at, zeros, BLOCK_LEN) != 0) {
		char size[SIZE_LEN + 1] = "";
		memcpy(size, text + at + SIZE_AT, SIZE_LEN);
		mend_header(text + at);
		at += BLOCK_LEN;
		size_t content = strtoul(size, NULL, 8);
		size_t blocks = content / BLOCK_LEN + (content % BLOCK_LEN != 0);
		if (blocks > (len - at) / BLOCK_LEN)
			return;
		at += blocks * BLOCK_LEN;
	}
}

static void check_within(struct str part, struct str whole)
{
	must(part.p >= whole.p && part.len <= whole.len &&
		(size_t)(part.p - whole.p) <= whole.len - part.len);
}

static size_t read_archive(struct str archive, FILE *out)
{
	struct str rest = archive;
	struct tar_file file;
	size_t count = 0;
	while (tar_next(&rest, &file) == TAR_FILE) {
		check_within(file.name, archive);
		check_within(file.content, archive);
		check_within(rest, archive);
		must(file.name.len <= TAR_NAME_LEN_MAX && str_find(file.name, '\0') == NULL);
		char *name = str_dup(file.name);
		must(tar_write(out, name, file.content) == 0);
		free(name);
		count++;
		must(count <= archive.len / BLOCK_LEN);
	}
	return count;
}

static void compare(struct str archive, struct str again, size_t count)
{
	struct tar_file file;
	struct tar_file copy;
	for (size_t i = 0; i < count; i++) {
		must(tar_next(&archive, &file) == TAR_FILE && tar_next(&again, &copy) == TAR_FILE);
		must(str_eq(file.name, copy.name) && str_eq(file.content, copy.content));
	}
	must(tar_next(&again, &copy) == TAR_END);
}

static void check(const uint8_t *data, size_t len, bool is_mended)
{
	char *again = NULL;
	size_t again_len = 0;
	/* A copy of exactly its size, so that a look behind the end is found. */
	char *exact = malloc(len != 0 ? len : 1);
	must(exact != NULL);
	if (len != 0)
		memcpy(exact, data, len);
	if (is_mended)
		mend_headers(exact, len);
	FILE *out = open_memstream(&again, &again_len);
	must(out != NULL);
	struct str archive = {exact, len};
	size_t count = read_archive(archive, out);
	must(tar_end(out) == 0 && fclose(out) == 0);
	compare(archive, (struct str){again, again_len}, count);
	free(again);
	free(exact);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	check(data, len, false);
	check(data, len, true);
	return 0;
}

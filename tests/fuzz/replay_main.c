// SPDX-License-Identifier: Apache-2.0
/* Gives each file of the folders on the command line to a fuzz target: the corpus as a test, with any compiler. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { INPUT_MAX = 4 * 1024 * 1024, PATH_LEN_MAX = 4096 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static int replay_file(const char *path)
{
	FILE *file = fopen(path, "rb");
	if (file == NULL)
		return 1;
	uint8_t *data = malloc(INPUT_MAX);
	size_t len = data != NULL ? fread(data, 1, INPUT_MAX, file) : 0;
	/* As long as the content and no longer, so that a read beyond the end is found. */
	uint8_t *exact = data != NULL ? realloc(data, len != 0 ? len : 1) : NULL;
	fclose(file);
	if (exact == NULL) {
		free(data);
		return 1;
	}
	LLVMFuzzerTestOneInput(exact, len);
	free(exact);
	return 0;
}

int main(int argc, char **argv)
{
	size_t count = 0;
	for (int i = 1; i < argc; i++) {
		DIR *folder = opendir(argv[i]);
		if (folder == NULL) {
			fprintf(stderr, "no corpus at %s\n", argv[i]);
			return 1;
		}
		for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
			char path[PATH_LEN_MAX];
			if (entry->d_name[0] == '.')
				continue;
			snprintf(path, sizeof(path), "%s/%s", argv[i], entry->d_name);
			if (replay_file(path) != 0)
				return 1;
			count++;
		}
		closedir(folder);
	}
	printf("%zu inputs\n", count);
	return count == 0;
}

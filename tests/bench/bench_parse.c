// SPDX-License-Identifier: Apache-2.0
/*
 * For scripts/bench: parses each file with cJSON alone, to show the least that reading an API server's lists can cost. Prints the
 * seconds of CPU that it took.
 *
 *   bench-parse FILE...
 */
#include "common/xalloc.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <time.h>

static char *read_file(const char *path, size_t *ret_len)
{
	FILE *file = fopen(path, "rb");
	if (file == NULL)
		return NULL;
	size_t cap = (size_t)64 * 1024 * 1024;
	char *text = xmalloc(cap);
	*ret_len = fread(text, 1, cap, file);
	fclose(file);
	return text;
}

static double cpu_s(void)
{
	struct timespec now;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	double spent = 0;
	for (int i = 1; i < argc; i++) {
		size_t len = 0;
		char *text = read_file(argv[i], &len);
		if (text == NULL) {
			fprintf(stderr, "cannot read %s\n", argv[i]);
			return 1;
		}
		double before = cpu_s();
		cJSON *document = cJSON_ParseWithLength(text, len);
		if (document == NULL) {
			fprintf(stderr, "%s: no JSON\n", argv[i]);
			return 1;
		}
		cJSON_Delete(document);
		spent += cpu_s() - before;
		free(text);
	}
	printf("%.6f\n", spent);
	return 0;
}

// SPDX-License-Identifier: Apache-2.0
#include "sluicectl/command_output.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void command_complain(char *problem)
{
	fprintf(stderr, "sluicectl: %s\n", problem);
	free(problem);
}

bool command_has_color(const struct args *args)
{
	const char *no_color = getenv("NO_COLOR");
	if (args->color != NULL && strcmp(args->color, "auto") != 0)
		return strcmp(args->color, "always") == 0;
	return isatty(STDOUT_FILENO) == 1 && (no_color == NULL || no_color[0] == '\0');
}

/* The second byte of a control character that is made of two (U+0080 to U+009F): terminals obey those, too. */
static bool is_second_of_control(const char *at)
{
	return (unsigned char)at[0] == 0xc2 && (unsigned char)at[1] >= 0x80 &&
	       (unsigned char)at[1] <= 0x9f;
}

void command_write_clean(FILE *out, struct str text)
{
	char *copy = str_dup_utf8(text);
	for (char *at = copy; *at != '\0'; at++) {
		if ((unsigned char)*at < 0x20 || *at == 0x7f) {
			*at = '?';
		} else if (is_second_of_control(at)) {
			at[0] = '?';
			at[1] = '?';
		}
	}
	fputs(copy, out);
	free(copy);
}

void command_print_clean(struct str text)
{
	command_write_clean(stdout, text);
}

// SPDX-License-Identifier: Apache-2.0
#include "sluicectl/command_output.h"

#include <stdio.h>
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

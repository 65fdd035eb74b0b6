// SPDX-License-Identifier: Apache-2.0
#include "common/program.h"

#include "common/signals.h"
#include "common/xalloc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Moves them beyond the target range first: the target of one may be the current number of another. */
static bool place_descriptors(const int *kept, int count)
{
	const int behind = PROGRAM_FIRST_KEPT + count;
	int *moved = xcalloc((size_t)count + 1, sizeof(*moved));
	bool is_done = true;
	for (int i = 0; i < count && is_done; i++) {
		moved[i] = fcntl(kept[i], F_DUPFD, behind);
		is_done = moved[i] >= 0;
	}
	for (int i = 0; i < count && is_done; i++)
		is_done = dup2(moved[i], PROGRAM_FIRST_KEPT + i) >= 0;
	free(moved);
	return is_done;
}

_Noreturn void program_become_with(char *const *argv, int output, int errors, const int *kept,
	size_t kept_count, const sigset_t *held)
{
	int null = open("/dev/null", O_RDONLY);
	signals_reset(held);
	dup2(null, 0);
	dup2(output, 1);
	dup2(errors, 2);
	const char *problem = NULL;
	if (!place_descriptors(kept, (int)kept_count))
		problem = strerrordesc_np(errno);
	close_range(PROGRAM_FIRST_KEPT + (unsigned)kept_count, ~0U, 0);
	if (problem == NULL) {
		execvp(argv[0], argv);
		problem = strerrordesc_np(errno);
	}
	dprintf(2, "cannot start %s: %s\n", argv[0], problem);
	_exit(127);
}

_Noreturn void program_become(char *const *argv, int output)
{
	program_become_with(argv, output, output, NULL, 0, NULL);
}

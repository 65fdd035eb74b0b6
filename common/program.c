// SPDX-License-Identifier: Apache-2.0
#include "common/program.h"

#include "common/signals.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

_Noreturn void program_become(char *const *argv, int output)
{
	int null = open("/dev/null", O_RDONLY);
	signals_reset();
	dup2(null, 0);
	dup2(output, 1);
	dup2(output, 2);
	close_range(3, ~0U, 0);
	execvp(argv[0], argv);
	dprintf(2, "cannot start %s: %s\n", argv[0], strerrordesc_np(errno));
	_exit(127);
}

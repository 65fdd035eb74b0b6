// SPDX-License-Identifier: Apache-2.0
#include "common/program.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

_Noreturn void program_become(char *const *argv, int output)
{
	int null = open("/dev/null", O_RDONLY);
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	dup2(null, 0);
	dup2(output, 1);
	dup2(output, 2);
	close_range(3, ~0U, 0);
	execvp(argv[0], argv);
	dprintf(2, "cannot start %s: %s\n", argv[0], strerrordesc_np(errno));
	_exit(127);
}

// SPDX-License-Identifier: Apache-2.0
/* How a forked process becomes another program that inherits nothing of ours. */
#pragma once

#include <signal.h>
#include <stddef.h>

/* To be called between fork() and exec: nothing to read, `output` as standard output and error, no other descriptor, no signal blocked or
 * ignored. argv ends in NULL; argv[0] is looked up in PATH. Where it cannot be started, standard error says so and the exit status is 127. */
_Noreturn void program_become(char *const *argv, int output);

/* Likewise with a standard error of its own, and these descriptors become PROGRAM_FIRST_KEPT and those that follow. `held`: signals that are blocked
 * nevertheless, so that they wait until the program is ready for them; NULL: none. */
enum { PROGRAM_FIRST_KEPT = 3 };
_Noreturn void program_become_with(char *const *argv, int output, int errors, const int *kept,
	size_t kept_count, const sigset_t *held);

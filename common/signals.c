// SPDX-License-Identifier: Apache-2.0
#include "common/signals.h"

#include <stddef.h>

void signals_reset(const sigset_t *held)
{
	sigset_t none;
	for (int signal = 1; signal < NSIG; signal++) {
		struct sigaction action;
		/* Some are reserved by libc, and are refused. */
		if (sigaction(signal, NULL, &action) != 0 || action.sa_handler != SIG_IGN)
			continue;
		action = (struct sigaction){.sa_handler = SIG_DFL};
		(void)sigaction(signal, &action, NULL);
	}
	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, held != NULL ? held : &none, NULL);
}

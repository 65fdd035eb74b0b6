// SPDX-License-Identifier: Apache-2.0
#include "common/descriptors.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

void descriptors_check(int error)
{
	static const char line[] =
		"level=error event=out-of-descriptors msg=\"no file descriptors are left; the "
		"process ends; its supervisor should restart it, with a higher limit (nofile) if "
		"this repeats\"\n";
	int number = error < 0 ? -error : error;
	if (number != EMFILE && number != ENFILE)
		return;
	ssize_t ignored = write(STDERR_FILENO, line, sizeof(line) - 1);
	(void)ignored;
	_exit(EXIT_FAILURE);
}

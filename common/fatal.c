// SPDX-License-Identifier: Apache-2.0
#include "common/fatal.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

static fatal_writer *write_words;

void fatal_set_writer(fatal_writer *writer)
{
	write_words = writer;
}

void fatal_tell(enum fatal_cause cause, const char *reason)
{
	if (write_words != NULL) {
		write_words(cause, reason);
		return;
	}
	/* writev(2) does not modify its buffers. */
	char end[] = "\n";
	struct iovec line[] = {{(void *)(uintptr_t)reason, strlen(reason)}, {end, 1}};
	ssize_t ignored = writev(STDERR_FILENO, line, 2);
	(void)ignored;
}

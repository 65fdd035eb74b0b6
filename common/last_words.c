// SPDX-License-Identifier: Apache-2.0
#include "common/last_words.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

static last_words_writer *write_words;

void last_words_set_writer(last_words_writer *writer)
{
	write_words = writer;
}

void last_words_say(enum last_words_cause cause, const char *reason)
{
	if (write_words != NULL) {
		write_words(cause, reason);
		return;
	}
	/* writev(2) does not change what it is given. */
	char end[] = "\n";
	struct iovec line[] = {{(void *)(uintptr_t)reason, strlen(reason)}, {end, 1}};
	ssize_t ignored = writev(STDERR_FILENO, line, 2);
	(void)ignored;
}

// SPDX-License-Identifier: Apache-2.0
/*
 * What a process says that cannot go on. It stands below everything that may fail in this way, the log as well, and so needs neither the heap nor the log:
 * whoever has a log gives it a writer, see log_init().
 */
#pragma once

enum last_words_cause {
	LAST_WORDS_BROKEN_INVARIANT,
	LAST_WORDS_OUT_OF_MEMORY,
};

/* `reason` is one line without its end. */
typedef void last_words_writer(enum last_words_cause cause, const char *reason);

/* Without a writer, or with NULL, the reason alone goes to standard error. */
void last_words_set_writer(last_words_writer *writer);
/* Returns: to end the process is up to the caller. */
void last_words_say(enum last_words_cause cause, const char *reason);

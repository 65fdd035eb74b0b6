// SPDX-License-Identifier: Apache-2.0
/*
 * What a process says that cannot go on. It stands below everything that may fail in this way, the log as well, and so needs neither the heap nor the log:
 * whoever has a log gives it a writer, see log_init().
 */
#pragma once

enum fatal_cause {
	FATAL_BROKEN_INVARIANT,
	FATAL_OUT_OF_MEMORY,
};

/* `reason` is one line without its end. */
typedef void fatal_writer(enum fatal_cause cause, const char *reason);

/* Without a writer, or with NULL, the reason alone goes to standard error. */
void fatal_set_writer(fatal_writer *writer);
/* Returns: to end the process is up to the caller. */
void fatal_tell(enum fatal_cause cause, const char *reason);

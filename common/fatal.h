// SPDX-License-Identifier: Apache-2.0
/*
 * The last message of a process that cannot go on. This lies below everything that may fail in this way, including the log, and so needs neither the
 * heap nor the log; log_init() installs a writer.
 */
#pragma once

enum fatal_cause {
	FATAL_BROKEN_INVARIANT,
	FATAL_OUT_OF_MEMORY,
};

/* `reason` is one line without its newline. */
typedef void fatal_writer(enum fatal_cause cause, const char *reason);

/* Without a writer, or with NULL, the reason alone goes to standard error. */
void fatal_set_writer(fatal_writer *writer);
/* It returns: ending the process is up to the caller. */
void fatal_tell(enum fatal_cause cause, const char *reason);

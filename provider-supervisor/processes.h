// SPDX-License-Identifier: Apache-2.0
/*
 * The processes of this machine, read from /proc. A master is started as the leader of a session of its own, and its workers stay in that
 * session whoever becomes their parent; the kernel does not reuse the id of a session while a member lives. So every process in the session
 * of a master that is gone is its orphan.
 */
#pragma once

#include "common/buf.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { PROCESSES_MAX = 4096, PROCESSES_WORDS_LEN_MAX = 256 * 1024 };

struct process {
	pid_t pid;
	pid_t parent;
	pid_t session;
	char state;       /* as in proc(5): 'T' is stopped, 'Z' has ended */
	uint64_t started; /* in clock ticks since the boot */
	char name[16];
};

/* False: there is none, or it has ended. */
bool process_read(pid_t pid, struct process *ret_process);
/* Its command line, with NUL between words; false when it cannot be read. */
bool process_read_words(pid_t pid, struct buf *words);
/* It has this name, which the kernel cuts at 15 bytes. */
bool process_is_called(const struct process *process, const char *name);

/* Those that `is_wanted` takes, at most PROCESSES_MAX of them; the caller frees the list. */
struct process *processes_list(bool (*is_wanted)(const struct process *process, const void *ctx),
	const void *ctx, size_t *ret_count);

/* Sends a signal only if the process is still that one. 0 or a negative errno. */
int process_signal(const struct process *process, int signal);

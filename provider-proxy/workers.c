// SPDX-License-Identifier: Apache-2.0
#include "provider-proxy/workers.h"

#include "common/buf.h"
#include "common/xalloc.h"
#include "common/files.h"

#include <signal.h>

enum { FILE_LEN_MAX = 256 * 1024 };

/* A file of /proc as a string; false when it cannot be had. */
static bool read_text(const char *path, struct buf *out)
{
	buf_clear(out);
	return files_read(path, out) == 0 && buf_append(out, "", 1) == 0;
}

enum worker_state { WORKER_NONE, WORKER_TAKING, WORKER_LEAVING };

/* nginx writes into its title what a worker is doing. */
static enum worker_state state_of(pid_t pid)
{
	struct buf title;
	enum worker_state state = WORKER_NONE;
	char *path = xasprintf("/proc/%d/cmdline", (int)pid);
	buf_init(&title, FILE_LEN_MAX);
	if (read_text(path, &title) && strstr(buf_str(&title).p, "worker process") != NULL)
		state = strstr(buf_str(&title).p, "is shutting down") != NULL ? WORKER_LEAVING
									      : WORKER_TAKING;
	buf_fini(&title);
	free(path);
	return state;
}

/* How many children of the master are in that state, and the first of them in the order in which they were made. */
static size_t count_workers(pid_t master, enum worker_state state, pid_t *ret_oldest)
{
	struct buf children;
	char *path = xasprintf("/proc/%d/task/%d/children", (int)master, (int)master);
	size_t count = 0;
	buf_init(&children, FILE_LEN_MAX);
	if (read_text(path, &children)) {
		char *rest = NULL;
		const char *at = buf_str(&children).p;
		for (long pid = strtol(at, &rest, 10); rest != at && pid > 1;
			pid = strtol(at, &rest, 10)) {
			at = rest;
			if (state_of((pid_t)pid) == state && count++ == 0)
				*ret_oldest = (pid_t)pid;
		}
	}
	buf_fini(&children);
	free(path);
	return count;
}

size_t workers_count_taking(pid_t master)
{
	pid_t oldest = 0;
	return count_workers(master, WORKER_TAKING, &oldest);
}

bool workers_end_oldest(pid_t master)
{
	pid_t oldest = 0;
	size_t count = count_workers(master, WORKER_LEAVING, &oldest);
	return count > WORKERS_OLD_MAX && kill(oldest, SIGTERM) == 0;
}

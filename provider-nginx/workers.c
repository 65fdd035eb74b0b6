// SPDX-License-Identifier: Apache-2.0
#include "provider-nginx/workers.h"

#include "common/buf.h"
#include "common/xalloc.h"
#include "provider-local/files.h"

#include <signal.h>

enum { FILE_LEN_MAX = 256 * 1024 };

/* A file of /proc as a string; false when it cannot be had. */
static bool read_text(const char *path, struct buf *out)
{
	buf_clear(out);
	return files_read(path, out) == 0 && buf_append(out, "", 1) == 0;
}

/* nginx writes into its title what a worker is doing. */
static bool is_old(pid_t pid)
{
	struct buf title;
	char *path = xasprintf("/proc/%d/cmdline", (int)pid);
	buf_init(&title, FILE_LEN_MAX);
	bool is = read_text(path, &title) &&
		  strstr(buf_str(&title).p, "worker process is shutting down") != NULL;
	buf_fini(&title);
	free(path);
	return is;
}

bool workers_end_oldest(pid_t master)
{
	struct buf children;
	char *path = xasprintf("/proc/%d/task/%d/children", (int)master, (int)master);
	size_t count = 0;
	pid_t oldest = 0;
	buf_init(&children, FILE_LEN_MAX);
	if (read_text(path, &children)) {
		/* In the order in which they were made. */
		char *rest = NULL;
		const char *at = buf_str(&children).p;
		for (long pid = strtol(at, &rest, 10); rest != at && pid > 1;
			pid = strtol(at, &rest, 10)) {
			at = rest;
			if (!is_old((pid_t)pid))
				continue;
			if (count++ == 0)
				oldest = (pid_t)pid;
		}
	}
	buf_fini(&children);
	free(path);
	return count > WORKERS_OLD_MAX && kill(oldest, SIGTERM) == 0;
}

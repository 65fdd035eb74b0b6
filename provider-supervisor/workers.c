// SPDX-License-Identifier: Apache-2.0
#include "provider-supervisor/workers.h"

#include "common/buf.h"
#include "common/xalloc.h"
#include "common/files.h"

#include <signal.h>

enum { FILE_LEN_MAX = 256 * 1024 };

/* A file of /proc as a string; false if it cannot be read. */
static bool read_text(const char *path, struct buf *out)
{
	buf_clear(out);
	return files_read(path, out) == 0 && buf_append(out, "", 1) == 0;
}

enum worker_state { WORKER_NONE, WORKER_TAKING, WORKER_LEAVING };

/* nginx shows in its title what a worker is doing. */
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

enum { CHILDREN_MAX = 4096 };

struct children {
	pid_t pids[CHILDREN_MAX]; /* in the order of their creation */
	size_t count;
};

static void list_children(pid_t master, struct children *ret_children)
{
	struct buf text;
	char *path = xasprintf("/proc/%d/task/%d/children", (int)master, (int)master);
	ret_children->count = 0;
	buf_init(&text, FILE_LEN_MAX);
	if (read_text(path, &text)) {
		char *rest = NULL;
		const char *at = buf_str(&text).p;
		for (long pid = strtol(at, &rest, 10);
			rest != at && pid > 1 && ret_children->count < CHILDREN_MAX;
			pid = strtol(at, &rest, 10)) {
			at = rest;
			ret_children->pids[ret_children->count++] = (pid_t)pid;
		}
	}
	buf_fini(&text);
	free(path);
}

static size_t count_state(const struct children *children, enum worker_state state)
{
	size_t count = 0;
	for (size_t i = 0; i < children->count; i++)
		count += state_of(children->pids[i]) == state;
	return count;
}

size_t workers_count_taking(pid_t master)
{
	struct children children;
	list_children(master, &children);
	return count_state(&children, WORKER_TAKING);
}

/* Keeps only the old children; returns how many of them belong to one reload. */
static size_t keep_old(const struct kind *kind, struct children *children)
{
	size_t kept = 0;
	if (!kind->tells_old_workers) {
		/* The newest one serves, or is about to. */
		children->count -= children->count != 0;
		return 1;
	}
	size_t taking = count_state(children, WORKER_TAKING);
	for (size_t i = 0; i < children->count; i++) {
		if (state_of(children->pids[i]) == WORKER_LEAVING)
			children->pids[kept++] = children->pids[i];
	}
	children->count = kept;
	return taking != 0 ? taking : 1;
}

size_t workers_end_old(const struct kind *kind, pid_t master, size_t reloads_max)
{
	struct children children;
	size_t ended = 0;
	list_children(master, &children);
	size_t most = reloads_max * keep_old(kind, &children);
	for (size_t i = 0; i + most < children.count; i++)
		ended += kill(children.pids[i], SIGTERM) == 0;
	return ended;
}

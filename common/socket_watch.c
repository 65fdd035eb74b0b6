// SPDX-License-Identifier: Apache-2.0
#include "common/socket_watch.h"

#include "common/xalloc.h"

#include <limits.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

struct socket_watch {
	struct ev_loop *loop;
	char *name; /* within its folder */
	void (*on_gone)(void *ctx);
	void *ctx;
	int fd;
	ev_io readable;
};

/* The folder is watched: the file lives on with its listener, so its removal would not be reported. */
static const uint32_t folder_ends = IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT | IN_IGNORED;
static const uint32_t file_ends = IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_CREATE;

static bool is_end(const struct socket_watch *watch, const struct inotify_event *event)
{
	if ((event->mask & folder_ends) != 0)
		return true;
	return (event->mask & file_ends) != 0 && event->len != 0 &&
	       strcmp(event->name, watch->name) == 0;
}

static void on_readable(struct ev_loop *loop, ev_io *watcher, int events)
{
	struct socket_watch *watch = watcher->data;
	alignas(struct inotify_event) char
		bytes[16 * (sizeof(struct inotify_event) + NAME_MAX + 1)];
	bool is_gone = false;
	ssize_t got = read(watch->fd, bytes, sizeof(bytes));
	for (ssize_t at = 0; at < got && !is_gone;) {
		const struct inotify_event *event = (const void *)(bytes + at);
		is_gone = is_end(watch, event);
		at += (ssize_t)(sizeof(*event) + event->len);
	}
	if (!is_gone)
		return;
	ev_io_stop(loop, watcher);
	watch->on_gone(watch->ctx);
}

static int open_watch(const char *folder)
{
	int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (fd >= 0 && inotify_add_watch(fd, folder,
			       file_ends | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR) < 0) {
		close(fd);
		fd = -1;
	}
	return fd;
}

struct socket_watch *socket_watch_new(
	struct ev_loop *loop, const char *path, void (*on_gone)(void *ctx), void *ctx)
{
	const char *slash = strrchr(path, '/');
	char *folder = slash == NULL   ? xstrdup(".")
		       : slash == path ? xstrdup("/")
				       : xstrndup(path, (size_t)(slash - path));
	int fd = open_watch(folder);
	free(folder);
	if (fd < 0)
		return NULL;
	struct socket_watch *watch = xcalloc(1, sizeof(*watch));
	watch->loop = loop;
	watch->name = xstrdup(slash != NULL ? slash + 1 : path);
	watch->on_gone = on_gone;
	watch->ctx = ctx;
	watch->fd = fd;
	ev_io_init(&watch->readable, on_readable, fd, EV_READ);
	watch->readable.data = watch;
	ev_io_start(loop, &watch->readable);
	return watch;
}

void socket_watch_free(struct socket_watch *watch)
{
	if (watch == NULL)
		return;
	ev_io_stop(watch->loop, &watch->readable);
	close(watch->fd);
	free(watch->name);
	free(watch);
}

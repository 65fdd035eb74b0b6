// SPDX-License-Identifier: Apache-2.0
#include "proto/listener.h"

#include "common/descriptors.h"
#include "common/files.h"
#include "common/inherited.h"
#include "common/must.h"
#include "common/socket_watch.h"
#include "common/unix_socket.h"
#include "common/xalloc.h"
#include "proto/log_events.h"

#include <errno.h>
#include <unistd.h>

struct listener {
	struct ev_loop *loop;
	const char *peer;
	const char *allow_option;
	const char *(*take)(void *ctx, int fd);
	void (*refused)(int fd, const char *reason);
	void *ctx;
	uid_t uids[LISTENER_UIDS_MAX];
	size_t uid_count;
	void (*gone)(void *ctx, const char *path, bool is_inherited);
	char *path;
	int fd;
	bool is_inherited;
	struct socket_watch *watch;
	ev_io acceptor;
};

static bool is_allowed(const struct listener *listener, uid_t uid)
{
	if (uid == 0 || uid == geteuid())
		return true;
	for (size_t i = 0; i < listener->uid_count; i++) {
		if (listener->uids[i] == uid)
			return true;
	}
	return false;
}

static void refuse(const struct listener *listener, int fd, uid_t uid, const char *reason)
{
	log_event(&EV_LINK_REFUSED, LOG_STR("peer", listener->peer), LOG_INT("uid", uid),
		LOG_STR("reason", reason));
	if (listener->refused != NULL)
		listener->refused(fd, reason);
}

/* Each link has its own option: the log line names it. */
static void refuse_user(const struct listener *listener, int fd, uid_t uid)
{
	const char *option = listener->allow_option;
	char *reason = option != NULL
			       ? xasprintf("user %u may not connect; the translator's --%s names "
					   "those that may",
					 (unsigned)uid, option)
			       : xasprintf("user %u may not connect", (unsigned)uid);
	refuse(listener, fd, uid, reason);
	free(reason);
}

/* True if the connection was accepted. */
static bool offer(const struct listener *listener, int fd)
{
	uid_t uid = 0;
	int err = unix_peer_uid(fd, &uid);
	if (err != 0) {
		log_event(&EV_LINK_REFUSED, LOG_STR("peer", listener->peer), LOG_ERRNO(err));
		return false;
	}
	if (!is_allowed(listener, uid)) {
		refuse_user(listener, fd, uid);
		return false;
	}
	const char *refusal = listener->take(listener->ctx, fd);
	if (refusal != NULL)
		refuse(listener, fd, uid, refusal);
	return refusal == NULL;
}

static void on_acceptable(struct ev_loop *loop, ev_io *watcher, int events)
{
	struct listener *listener = watcher->data;
	int fd = unix_accept(listener->fd);
	if (fd < 0) {
		descriptors_check(fd);
		if (fd != -EAGAIN)
			log_event(&EV_LINK_REFUSED, LOG_STR("peer", listener->peer), LOG_ERRNO(fd));
		return;
	}
	if (!offer(listener, fd))
		close(fd);
}

static void on_gone(void *ctx)
{
	struct listener *listener = ctx;
	listener->gone(listener->ctx, listener->path, listener->is_inherited);
}

struct listener *listener_new(const struct listener_config *config, int *ret_err)
{
	int position = 0;
	must(config->allowed_count <= LISTENER_UIDS_MAX && config->gone != NULL);
	int fd = inherited_listener(config->socket_name, &position);
	bool is_inherited = fd != -ENOENT;
	if (!is_inherited)
		fd = unix_listen(config->path);
	if (fd < 0) {
		*ret_err = fd;
		return NULL;
	}
	struct listener *listener = xcalloc(1, sizeof(*listener));
	listener->loop = config->loop;
	listener->peer = config->peer;
	listener->allow_option = config->allow_option;
	listener->take = config->take;
	listener->refused = config->refused;
	listener->ctx = config->ctx;
	listener->uid_count = config->allowed_count;
	for (size_t i = 0; i < config->allowed_count; i++)
		listener->uids[i] = config->allowed_uids[i];
	listener->gone = config->gone;
	listener->path = xstrdup(config->path);
	listener->fd = fd;
	listener->is_inherited = is_inherited;
	listener->watch = socket_watch_new(config->loop, config->path, on_gone, listener);
	ev_io_init(&listener->acceptor, on_acceptable, fd, EV_READ);
	listener->acceptor.data = listener;
	ev_io_start(config->loop, &listener->acceptor);
	return listener;
}

void listener_free(struct listener *listener)
{
	if (listener == NULL)
		return;
	ev_io_stop(listener->loop, &listener->acceptor);
	socket_watch_free(listener->watch);
	close(listener->fd);
	free(listener->path);
	free(listener);
}

void listener_remove(struct listener *listener)
{
	if (listener != NULL && !listener->is_inherited)
		(void)files_remove(listener->path);
	listener_free(listener);
}

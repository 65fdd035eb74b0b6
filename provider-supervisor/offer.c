// SPDX-License-Identifier: Apache-2.0
#include "provider-supervisor/offer.h"

#include "common/files.h"
#include "common/unix_socket.h"
#include "common/xalloc.h"
#include "provider-supervisor/log_events.h"

#include <errno.h>
#include <unistd.h>

struct offer {
	struct ev_loop *loop;
	char *path;
	struct listeners listeners;
	int fd; /* -1: closed */
	ev_io acceptor;
};

static void end(struct offer *offer)
{
	if (offer->fd < 0)
		return;
	ev_io_stop(offer->loop, &offer->acceptor);
	close(offer->fd);
	offer->fd = -1;
	(void)files_remove(offer->path);
	listeners_fini(&offer->listeners);
}

static int answer(struct offer *offer, int fd)
{
	uid_t uid = 0;
	int err = unix_peer_uid(fd, &uid);
	if (err != 0)
		return err;
	if (uid != 0 && uid != geteuid())
		return -EPERM;
	listeners_make_patient(fd);
	return listeners_answer(fd, &offer->listeners);
}

static void on_acceptable(struct ev_loop *loop, ev_io *watcher, int events)
{
	struct offer *offer = watcher->data;
	int fd = unix_accept(offer->fd);
	if (fd < 0)
		return;
	int err = answer(offer, fd);
	close(fd);
	if (err != 0)
		log_event(&EV_OFFER_FAILED, LOG_ERRNO(err));
	if (err != -EPERM)
		end(offer);
}

struct offer *offer_new(
	struct ev_loop *loop, const char *path, struct listeners *listeners, int *ret_err)
{
	int fd = unix_listen(path);
	if (fd < 0) {
		*ret_err = fd;
		return NULL;
	}
	struct offer *offer = xcalloc(1, sizeof(*offer));
	offer->loop = loop;
	offer->path = xstrdup(path);
	offer->fd = fd;
	offer->listeners = *listeners;
	*listeners = (struct listeners){0};
	ev_io_init(&offer->acceptor, on_acceptable, fd, EV_READ);
	offer->acceptor.data = offer;
	ev_io_start(loop, &offer->acceptor);
	return offer;
}

void offer_free(struct offer *offer)
{
	if (offer == NULL)
		return;
	end(offer);
	free(offer->path);
	free(offer);
}

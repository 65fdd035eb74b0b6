// SPDX-License-Identifier: Apache-2.0
#include "provider-supervisor/take_over.h"

#include "common/clock.h"
#include "common/unix_socket.h"
#include "common/xalloc.h"
#include "proto/proxy_folder.h"
#include "provider-supervisor/control.h"
#include "provider-supervisor/log_events.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* For a complete exchange. The other one's HAProxy may take two seconds to respond to it. */
static const double patience_s = 4;
/* The time a provider may need until everything is served. */
static const double serving_within_s = 120;
enum { ANSWER_LEN_MAX = 4 * CONTROL_LINE_LEN_MAX };

struct take_over {
	char *socket;
	bool is_pending;
	double asked; /* first time; 0: not yet */
};

static int send_command(const struct take_over *take_over, const char *text)
{
	int fd = listeners_connect(take_over->socket);
	if (fd >= 0 && send(fd, text, strlen(text), MSG_NOSIGNAL) < 0) {
		int err = -errno;
		close(fd);
		return err;
	}
	return fd;
}

static bool is_nobody(int err)
{
	return err == -ENOENT || err == -ECONNREFUSED || err == -ENOTDIR;
}

/* The number of sockets, from its line; -1: not received yet. -EPERM: it cannot hand them over. */
static int64_t read_total(struct str text)
{
	static const char mark[] = "listeners\t";
	int64_t total = -1;
	while (text.len != 0) {
		const char *end = str_find(text, '\n');
		if (end == NULL)
			return -1;
		struct str line = {text.p, (size_t)(end - text.p)};
		if (str_starts_with(line, STR("refused\tlisteners\t")))
			return -EPERM;
		if (str_starts_with(line, str_from(mark)) &&
			str_to_int(
				str_skip(line, sizeof(mark) - 1), 0, TRANSFER_SOCKETS_MAX, &total))
			return total;
		text = str_skip(text, line.len + 1);
	}
	return total;
}

static int receive(int fd, struct listeners *listeners)
{
	const double end = clock_monotonic_s() + patience_s;
	struct buf in;
	size_t received = 0;
	int64_t total = -1;
	int err = 0;
	buf_init(&in, ANSWER_LEN_MAX);
	while (err == 0 && (total < 0 || received < (size_t)total)) {
		ssize_t len = listeners_receive(fd, &in, listeners, &received);
		if (len == -EAGAIN && clock_monotonic_s() < end)
			continue;
		err = len > 0 ? 0 : len == 0 ? -ECONNRESET : (int)len;
		total = read_total(buf_str(&in));
		if (total < -1)
			err = (int)total;
		if (err == 0 && clock_monotonic_s() > end)
			err = -ETIMEDOUT;
	}
	buf_fini(&in);
	return err;
}

static int fetch(const struct take_over *take_over, struct listeners *ret_listeners)
{
	struct listeners listeners = {0};
	int fd = send_command(take_over, "listeners\n");
	if (fd < 0)
		return fd;
	int err = receive(fd, &listeners);
	close(fd);
	if (err != 0)
		listeners_fini(&listeners);
	else
		*ret_listeners = listeners;
	return err;
}

void take_over_fetch(struct take_over *take_over, struct listeners *ret_listeners)
{
	*ret_listeners = (struct listeners){0};
	if (!take_over->is_pending)
		return;
	int err = fetch(take_over, ret_listeners);
	take_over->is_pending = err == 0;
	if (err != 0 && !is_nobody(err))
		log_event(
			&EV_TAKE_OVER_FAILED, LOG_STR("socket", take_over->socket), LOG_ERRNO(err));
}

bool take_over_is_there(struct take_over *take_over)
{
	if (!take_over->is_pending)
		return false;
	int fd = unix_connect(take_over->socket);
	if (fd >= 0)
		close(fd);
	take_over->is_pending = fd >= 0 || !is_nobody(fd);
	return take_over->is_pending;
}

bool take_over_is_pending(const struct take_over *take_over)
{
	return take_over->is_pending;
}

int take_over_ask(struct take_over *take_over)
{
	double now = clock_monotonic_s();
	if (!take_over->is_pending)
		return 0;
	if (take_over->asked == 0)
		take_over->asked = now;
	if (now - take_over->asked > serving_within_s) {
		log_event(&EV_TAKE_OVER_FAILED, LOG_STR("socket", take_over->socket),
			LOG_STR("reason", "what is wanted is not served in time"));
		return -ETIMEDOUT;
	}
	int fd = send_command(take_over, "yield\n");
	if (fd >= 0)
		close(fd);
	return 0;
}

void take_over_finish(struct take_over *take_over, const char *kind)
{
	if (!take_over->is_pending)
		return;
	take_over->is_pending = false;
	char *text = xasprintf("taken\t%s\n", kind);
	int fd = send_command(take_over, text);
	free(text);
	if (fd < 0)
		log_event(
			&EV_TAKE_OVER_FAILED, LOG_STR("socket", take_over->socket), LOG_ERRNO(fd));
	else
		log_event(&EV_TAKE_OVER_DONE, LOG_STR("socket", take_over->socket));
	if (fd >= 0)
		close(fd);
}

void take_over_leave(struct take_over *take_over)
{
	if (!take_over->is_pending)
		return;
	take_over->is_pending = false;
	log_event(&EV_TAKE_OVER_APART, LOG_STR("socket", take_over->socket));
}

struct take_over *take_over_new(const char *dir, const char *own_dir)
{
	struct take_over *take_over = xcalloc(1, sizeof(*take_over));
	struct listeners listeners = {0};
	if (dir == NULL || dir[0] == 0 || strcmp(dir, own_dir) == 0)
		return take_over;
	take_over->socket = xasprintf("%s/" SUPERVISOR_SOCKET, dir);
	take_over->is_pending = true;
	take_over_fetch(take_over, &listeners);
	/* A supervisor whose proxy does not run has nothing to hand over, and is in nobody's way. */
	take_over->is_pending = listeners.count != 0;
	log_event(take_over->is_pending ? &EV_TAKE_OVER : &EV_TAKE_OVER_NONE,
		LOG_STR("folder", dir), LOG_INT("listeners", (int64_t)listeners.count));
	listeners_fini(&listeners);
	return take_over;
}

void take_over_free(struct take_over *take_over)
{
	if (take_over == NULL)
		return;
	free(take_over->socket);
	free(take_over);
}

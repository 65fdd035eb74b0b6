// SPDX-License-Identifier: Apache-2.0
#include "provider-supervisor/access_socket.h"

#include "common/clock.h"
#include "common/must.h"
#include "common/xalloc.h"
#include "provider-supervisor/proxy_socket.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

struct access_socket {
	struct proxy_socket *socket;
	char *file;
	struct traffic_counts *counts;
	struct buf wanted; /* empty between two calls */
};

/* What the file does not take is lost: there is no room in memory. */
static void append(const struct access_socket *socket, struct str lines)
{
	if (lines.len == 0)
		return;
	int fd = open(socket->file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0640);
	if (fd < 0)
		return;
	while (lines.len != 0) {
		ssize_t done = write(fd, lines.p, lines.len);
		if (done <= 0)
			break;
		lines = str_skip(lines, (size_t)done);
	}
	close(fd);
}

/* Of one line, what is to be logged. Nothing of connections that ended before HAProxy knew what to do with them, most of which are TLS handshakes that
 * failed, also those by which the provider asks whether we listen. */
static struct str take_line(
	struct traffic_counts *counts, struct traffic_sender *sender, struct str line)
{
	if (line.p[0] != ACCESS_SOCKET_ERROR_MARK)
		return traffic_counts_take(counts, sender, line, true);
	const char *blank = str_find(line, ' ');
	struct str rest = str_skip(line, blank != NULL ? (size_t)(blank - line.p) + 1 : line.len);
	bool is_request = str_starts_with(str_skip(line, 1), STR("0 "));
	struct str left = traffic_counts_take(counts, sender, rest, is_request);
	return is_request ? left : STR_NONE;
}

static void take_lines(
	struct access_socket *socket, struct traffic_sender *sender, struct str lines)
{
	struct timespec now = clock_wall();
	traffic_counts_set_time(socket->counts, now.tv_sec * 1000 + now.tv_nsec / 1000000);
	while (lines.len != 0) {
		size_t len = (size_t)(str_find(lines, '\n') - lines.p) + 1;
		/* No longer than what came. */
		must(buf_append_str(&socket->wanted,
			     take_line(socket->counts, sender, (struct str){lines.p, len})) == 0);
		lines = str_skip(lines, len);
	}
	append(socket, buf_str(&socket->wanted));
	buf_clear(&socket->wanted);
}

static int on_input(void *ctx, struct proxy_peer *peer, struct buf *in)
{
	struct str lines = buf_str(in);
	const char *end = lines.len != 0 ? memrchr(lines.p, '\n', lines.len) : NULL;
	if (end == NULL)
		return 0;
	lines.len = (size_t)(end - lines.p) + 1;
	take_lines(ctx, proxy_peer_state(peer), lines);
	buf_consume(in, lines.len);
	return 0;
}

struct access_socket *access_socket_new(struct ev_loop *loop, const char *path, const char *file,
	struct traffic_counts *counts, int *ret_err)
{
	struct access_socket *socket = xcalloc(1, sizeof(*socket));
	struct proxy_socket_config config = {
		.loop = loop,
		.path = path,
		.socket_name = "access.sock",
		.limits = {.in_max = ACCESS_SOCKET_LINE_MAX, .out_max = 1},
		.peers_max = ACCESS_SOCKET_SENDERS_MAX,
		.state_size = sizeof(struct traffic_sender),
		.is_read_in_turns = true,
		.on_input = on_input,
		.ctx = socket,
	};
	socket->file = xstrdup(file);
	socket->counts = counts;
	buf_init(&socket->wanted, ACCESS_SOCKET_LINE_MAX);
	socket->socket = proxy_socket_new(&config, ret_err);
	if (socket->socket != NULL)
		return socket;
	access_socket_free(socket);
	return NULL;
}

void access_socket_free(struct access_socket *socket)
{
	if (socket == NULL)
		return;
	proxy_socket_free(socket->socket);
	buf_fini(&socket->wanted);
	free(socket->file);
	free(socket);
}

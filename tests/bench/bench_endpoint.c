// SPDX-License-Identifier: Apache-2.0
/*
 * For scripts/bench: plays the pods at the least possible cost, so that the proxy is what is measured.
 *
 *   bench-endpoint FIRST_ADDRESS COUNT PORT
 *
 * Listens on COUNT IPv4 addresses in a row, writes "ready\n", and answers each request head with the same 200. Requests have no body.
 */
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <ev.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { HEAD_MAX = 16 * 1024, BACKLOG = 64 };

struct connection {
	ev_io io;
	size_t matched; /* how many bytes of END the bytes so far end with */
};

static const char END[] = "\r\n\r\n";
static const char ANSWER[] =
	"HTTP/1.1 200 OK\r\ncontent-length: 3\r\ncontent-type: text/plain\r\n\r\nok\n";

static void close_connection(struct ev_loop *loop, struct connection *connection)
{
	ev_io_stop(loop, &connection->io);
	close(connection->io.fd);
	free(connection);
}

/* How many heads end in these bytes. */
static int count_heads(struct connection *connection, const char *bytes, size_t len)
{
	int count = 0;
	for (size_t i = 0; i < len; i++) {
		if (bytes[i] == END[connection->matched])
			connection->matched++;
		else
			connection->matched = bytes[i] == END[0];
		if (END[connection->matched] == '\0') {
			connection->matched = 0;
			count++;
		}
	}
	return count;
}

static void on_request(struct ev_loop *loop, ev_io *io, int events)
{
	(void)events;
	struct connection *connection = (struct connection *)io;
	char bytes[HEAD_MAX];
	ssize_t len = read(io->fd, bytes, sizeof(bytes));
	if (len < 0 && errno == EAGAIN)
		return;
	if (len <= 0) {
		close_connection(loop, connection);
		return;
	}
	for (int count = count_heads(connection, bytes, (size_t)len); count > 0; count--)
		if (write(io->fd, ANSWER, sizeof(ANSWER) - 1) != (ssize_t)sizeof(ANSWER) - 1) {
			close_connection(loop, connection);
			return;
		}
}

static void on_connection(struct ev_loop *loop, ev_io *io, int events)
{
	(void)events;
	int fd = accept4(io->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (fd < 0)
		return;
	struct connection *connection = calloc(1, sizeof(*connection));
	if (connection == NULL)
		err(1, "calloc");
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
	ev_io_init(&connection->io, on_request, fd, EV_READ);
	ev_io_start(loop, &connection->io);
}

static void listen_on(struct ev_loop *loop, const struct sockaddr_in *address)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	ev_io *io = calloc(1, sizeof(*io));
	if (fd < 0 || io == NULL ||
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int)) != 0 ||
		bind(fd, (const struct sockaddr *)address, sizeof(*address)) != 0 ||
		listen(fd, BACKLOG) != 0)
		err(1, "cannot listen on %s", inet_ntoa(address->sin_addr));
	ev_io_init(io, on_connection, fd, EV_READ);
	ev_io_start(loop, io);
}

int main(int argc, char **argv)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	struct ev_loop *loop = ev_default_loop(0);
	if (argc != 4 || inet_pton(AF_INET, argv[1], &address.sin_addr) != 1)
		errx(2, "usage: bench-endpoint FIRST_ADDRESS COUNT PORT");
	address.sin_port = htons((uint16_t)atoi(argv[3]));
	uint32_t first = ntohl(address.sin_addr.s_addr);
	for (uint32_t i = 0; i < (uint32_t)atoi(argv[2]); i++) {
		address.sin_addr.s_addr = htonl(first + i);
		listen_on(loop, &address);
	}
	puts("ready");
	fflush(stdout);
	ev_run(loop, 0);
	return 0;
}

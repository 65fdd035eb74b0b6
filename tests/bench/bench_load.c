// SPDX-License-Identifier: Apache-2.0
/*
 * For scripts/bench: sends requests to a proxy at a fixed rate, to one host after the other.
 *
 *   bench-load ADDRESS PORT CONNECTIONS RATE SECONDS [STATUS PATH [HEADER...]] < HOSTS
 *
 * HOSTS are lines, each HEADER is one "Name: value" that all requests have. Requests are due at fixed times, however late the answers are; a duration is counted from when its request was due, so
 * that a proxy that pauses is seen to do so. Each connection has one request at a time and is kept open. At the end it prints one line:
 *
 *   good N failed N failed_status N p50_us N p99_us N
 *
 * A request has failed if its answer had not that status, 200 unless told, and a Content-Length, or if it had none long after the last request was due. The
 * failed status is that of the last answer that was not as wanted; 0 if none was, or it had none.
 */
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <ev.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	HOSTS_MAX = 100000,
	HOST_MAX_LEN = 256,
	ANSWER_MAX = 16 * 1024,
	CONNECTIONS_MAX = 1000,
	HEADERS_MAX_LEN = 4096
};

static const double TICK_S = 0.0005;
static const double LATE_S = 20.0; /* for the last answers, on a busy machine */

struct connection {
	ev_io io;
	bool is_busy;
	double due;
	size_t len;
	char answer[ANSWER_MAX];
};

static struct sockaddr_in proxy = {.sin_family = AF_INET};
static struct connection *connections;
static int connection_count, idle_count;
static struct connection *idle[CONNECTIONS_MAX];
static char **hosts;
static const char *wanted_status = "200", *path = "/";
static char headers[HEADERS_MAX_LEN]; /* with the empty line */
static size_t host_count;
static double rate, seconds, start;
static long sent, good, failed, failed_status, total;
static double *durations;

static void read_hosts(void)
{
	char line[HOST_MAX_LEN];
	hosts = calloc(HOSTS_MAX, sizeof(*hosts));
	while (hosts != NULL && host_count < HOSTS_MAX &&
		fgets(line, sizeof(line), stdin) != NULL) {
		line[strcspn(line, "\n")] = '\0';
		hosts[host_count++] = strdup(line);
	}
	if (host_count == 0)
		errx(2, "no hosts on standard input");
}

static void on_answer(struct ev_loop *loop, ev_io *io, int events);

/* Blocks, which does no harm: connections are made before the measurement, or after a failure. */
static void connect_to_proxy(struct ev_loop *loop, struct connection *connection)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&proxy, sizeof(proxy)) != 0)
		err(1, "cannot connect to %s:%d", inet_ntoa(proxy.sin_addr), ntohs(proxy.sin_port));
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
	ev_io_init(&connection->io, on_answer, fd, EV_READ);
	ev_io_start(loop, &connection->io);
	connection->len = 0;
	idle[idle_count++] = connection;
}

static void finish_request(struct connection *connection, bool is_good)
{
	connection->is_busy = false;
	connection->len = 0;
	if (is_good)
		durations[good++] = ev_time() - connection->due;
	else
		failed++;
}

static void join_headers(char **lines)
{
	size_t len = 0;
	for (; *lines != NULL && len < sizeof(headers); lines++)
		len += (size_t)snprintf(headers + len, sizeof(headers) - len, "%s\r\n", *lines);
	if (len < sizeof(headers))
		len += (size_t)snprintf(headers + len, sizeof(headers) - len, "\r\n");
	if (len >= sizeof(headers))
		errx(2, "all headers together may have %d bytes", HEADERS_MAX_LEN);
}

static const char version[] = "HTTP/1.1 ";

/* 1: whole and as wanted, 0: not yet whole, -1: something else. */
static int judge_answer(const struct connection *connection)
{
	const char *text = connection->answer;
	const char *end = memmem(text, connection->len, "\r\n\r\n", 4);
	if (end == NULL)
		return connection->len < ANSWER_MAX - 1 ? 0 : -1;
	const char *length = strcasestr(text, "\r\ncontent-length:");
	if (strncmp(text, version, sizeof(version) - 1) != 0 ||
		strncmp(text + sizeof(version) - 1, wanted_status, 3) != 0 || length == NULL ||
		length > end)
		return -1;
	size_t whole = (size_t)(end - text) + 4 + strtoul(strchr(length, ':') + 1, NULL, 10);
	return connection->len == whole ? 1 : connection->len < whole ? 0 : -1;
}

static long read_status(const char *answer)
{
	bool has_status = strncmp(answer, version, sizeof(version) - 1) == 0;
	return has_status ? strtol(answer + sizeof(version) - 1, NULL, 10) : 0;
}

static void on_answer(struct ev_loop *loop, ev_io *io, int events)
{
	(void)events;
	struct connection *connection = (struct connection *)io;
	ssize_t len = read(
		io->fd, connection->answer + connection->len, ANSWER_MAX - 1 - connection->len);
	int verdict = -1;
	if (len > 0 && connection->is_busy) {
		connection->len += (size_t)len;
		connection->answer[connection->len] = '\0';
		verdict = judge_answer(connection);
		if (verdict < 0)
			failed_status = read_status(connection->answer);
	}
	if (verdict == 0)
		return;
	if (connection->is_busy)
		finish_request(connection, verdict == 1);
	if (verdict == 1) {
		idle[idle_count++] = connection;
		return;
	}
	ev_io_stop(loop, io);
	close(io->fd);
	for (int i = 0; i < idle_count; i++)
		if (idle[i] == connection)
			idle[i] = idle[--idle_count];
	connect_to_proxy(loop, connection);
}

static void send_request(double due)
{
	char text[HOST_MAX_LEN + HEADERS_MAX_LEN + 256];
	struct connection *connection = idle[--idle_count];
	int len = snprintf(text, sizeof(text),
		"GET %.128s HTTP/1.1\r\nHost: %s\r\nUser-Agent: bench\r\n%s", path,
		hosts[(size_t)sent % host_count], headers);
	sent++;
	connection->is_busy = true;
	connection->due = due;
	if (write(connection->io.fd, text, (size_t)len) != len)
		finish_request(connection, false);
}

static void on_tick(struct ev_loop *loop, ev_timer *timer, int events)
{
	(void)events;
	(void)timer;
	double now = ev_time();
	while (sent < total && idle_count > 0 && start + (double)sent / rate <= now)
		send_request(start + (double)sent / rate);
	if (good + failed >= total || now > start + seconds + LATE_S)
		ev_break(loop, EVBREAK_ALL);
}

static int compare_durations(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static double percentile_us(double share)
{
	return good == 0 ? 0 : durations[(long)((double)(good - 1) * share)] * 1e6;
}

int main(int argc, char **argv)
{
	struct ev_loop *loop = ev_default_loop(0);
	ev_timer tick;
	if (argc < 6 || argc == 7 || inet_pton(AF_INET, argv[1], &proxy.sin_addr) != 1)
		errx(2, "usage: bench-load ADDRESS PORT CONNECTIONS RATE SECONDS [STATUS PATH "
			"[HEADER...]] < HOSTS");
	proxy.sin_port = htons((uint16_t)atoi(argv[2]));
	connection_count = atoi(argv[3]);
	rate = atof(argv[4]);
	seconds = atof(argv[5]);
	total = (long)(rate * seconds);
	if (argc > 6) {
		wanted_status = argv[6];
		path = argv[7];
	}
	join_headers(argc > 8 ? argv + 8 : &argv[argc]);
	if (connection_count < 1 || connection_count > CONNECTIONS_MAX || total < 1)
		errx(2, "from 1 to %d connections, and at least one request", CONNECTIONS_MAX);
	read_hosts();
	connections = calloc((size_t)connection_count, sizeof(*connections));
	durations = calloc((size_t)total, sizeof(*durations));
	if (connections == NULL || durations == NULL)
		err(1, "calloc");
	for (int i = 0; i < connection_count; i++)
		connect_to_proxy(loop, &connections[i]);
	ev_timer_init(&tick, on_tick, 0, TICK_S);
	ev_timer_start(loop, &tick);
	start = ev_time();
	ev_run(loop, 0);
	qsort(durations, (size_t)good, sizeof(*durations), compare_durations);
	printf("good %ld failed %ld failed_status %ld p50_us %.0f p99_us %.0f\n", good,
		total - good, failed_status, percentile_us(0.5), percentile_us(0.99));
	return 0;
}

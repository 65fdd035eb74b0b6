// SPDX-License-Identifier: Apache-2.0
/*
 * For scripts/bench: asks a proxy for a host until it is served, and says when that was.
 *
 *   bench-first ADDRESS PORT < HOSTS
 *
 * Each line of HOSTS is asked for until the answer has the status 200; then a line with the nanoseconds of CLOCK_MONOTONIC at which that answer was there is written. A
 * connection is kept while the proxy keeps it. The pause between two requests leaves the processors to those who are measured.
 */
#include <arpa/inet.h>
#include <err.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { HOST_MAX_LEN = 256, ANSWER_MAX = 16 * 1024, PAUSE_NS = 100 * 1000 };
static const double PATIENCE_S = 60;

static struct sockaddr_in proxy = {.sin_family = AF_INET};
static int fd = -1;

static void hang_up(void)
{
	if (fd >= 0)
		close(fd);
	fd = -1;
}

static bool is_connected(void)
{
	if (fd >= 0)
		return true;
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&proxy, sizeof(proxy)) != 0) {
		hang_up();
		return false;
	}
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
	return true;
}

/* The length of the whole answer, once its head is there; 0: not yet, -1: it cannot be read. */
static long whole_len(const char *answer, size_t len)
{
	const char *end = memmem(answer, len, "\r\n\r\n", 4);
	if (end == NULL)
		return len < ANSWER_MAX - 1 ? 0 : -1;
	const char *length = strcasestr(answer, "\r\ncontent-length:");
	if (length == NULL || length > end)
		return -1;
	return end - answer + 4 + strtol(strchr(length, ':') + 1, NULL, 10);
}

/* The status; 0: there was no answer that can be read. */
static int ask(const char *host)
{
	char request[HOST_MAX_LEN + 64];
	char answer[ANSWER_MAX];
	size_t len = 0;
	long whole = 0;
	int asked = snprintf(request, sizeof(request), "GET / HTTP/1.1\r\nHost: %s\r\n\r\n", host);
	if (!is_connected() || send(fd, request, (size_t)asked, MSG_NOSIGNAL) != asked) {
		hang_up();
		return 0;
	}
	while (whole == 0 || (size_t)whole > len) {
		ssize_t got = recv(fd, answer + len, sizeof(answer) - 1 - len, 0);
		if (got <= 0) {
			hang_up();
			return 0;
		}
		len += (size_t)got;
		answer[len] = '\0';
		whole = whole_len(answer, len);
		if (whole < 0 || (size_t)whole >= sizeof(answer)) {
			hang_up();
			return 0;
		}
	}
	if (strcasestr(answer, "\r\nconnection: close") != NULL)
		hang_up();
	return strncmp(answer, "HTTP/1.1 ", 9) == 0 ? atoi(answer + 9) : 0;
}

static long long now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void ask_until_served(const char *host)
{
	long long end_ns = now_ns() + (long long)(PATIENCE_S * 1e9);
	while (ask(host) != 200) {
		if (now_ns() > end_ns)
			errx(1, "%s is not served", host);
		nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
	}
	printf("%lld\n", now_ns());
	fflush(stdout);
}

int main(int argc, char **argv)
{
	char host[HOST_MAX_LEN];
	if (argc != 3 || inet_pton(AF_INET, argv[1], &proxy.sin_addr) != 1)
		errx(2, "usage: bench-first ADDRESS PORT < HOSTS");
	proxy.sin_port = htons((uint16_t)atoi(argv[2]));
	/* Or each pause takes 50 us more. */
	prctl(PR_SET_TIMERSLACK, 1UL);
	while (fgets(host, sizeof(host), stdin) != NULL) {
		host[strcspn(host, "\n")] = '\0';
		ask_until_served(host);
	}
	return 0;
}

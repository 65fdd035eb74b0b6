// SPDX-License-Identifier: Apache-2.0
#include "aws_server.h"

#include "common/must.h"
#include "common/xalloc.h"

#include <arpa/inet.h>
#include <cmocka.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

enum { DIGEST_LEN = 32, TEXT_LEN = 16 * 1024, CONNECTIONS_MAX = 32 };

struct aws_server aws_server;

struct connection {
	ev_io io;
	char text[TEXT_LEN];
	size_t len;
	bool is_open;
};

static ev_io listener;
static struct connection connections[CONNECTIONS_MAX];
static size_t answered;

/* ---- requests ---- */

static const char *header_in(const char *text, const char *name)
{
	static char values[8][2048];
	static size_t next;
	char *value = values[next++ % 8];
	const char *line = strstr(text, "\r\n");
	size_t len = strlen(name);
	for (; line != NULL && strncmp(line, "\r\n\r\n", 4) != 0; line = strstr(line + 2, "\r\n")) {
		if (strncasecmp(line + 2, name, len) != 0 || line[2 + len] != ':')
			continue;
		snprintf(value, sizeof(values[0]), "%.*s", (int)strcspn(line + 4 + len, "\r\n"),
			line + 4 + len);
		return value;
	}
	return NULL;
}

const char *aws_request_header(size_t i, const char *name)
{
	must(i < aws_server.count);
	return header_in(aws_server.requests[i].text, name);
}

/* ---- signatures: the steps of Signature Version 4 ---- */

static void hex(const unsigned char digest[DIGEST_LEN], char ret_text[2 * DIGEST_LEN + 1])
{
	for (size_t i = 0; i < DIGEST_LEN; i++)
		snprintf(ret_text + 2 * i, 3, "%02x", digest[i]);
}

static void sha256_hex(const char *text, char ret_text[2 * DIGEST_LEN + 1])
{
	unsigned char digest[DIGEST_LEN];
	must(EVP_Digest(text, strlen(text), digest, NULL, EVP_sha256(), NULL) == 1);
	hex(digest, ret_text);
}

static void hmac(
	const void *key, size_t key_len, const char *text, unsigned char digest[DIGEST_LEN])
{
	must(HMAC(EVP_sha256(), key, (int)key_len, (const unsigned char *)text, strlen(text),
		     digest, NULL) != NULL);
}

/* "METHOD", path, query, which has to be canonical already, each signed header, their names, and the digest of the body. */
static void canonical_request(
	const struct aws_request *request, const char *names, char ret_text[TEXT_LEN])
{
	char path[512];
	char digest[2 * DIGEST_LEN + 1];
	must(sscanf(request->text, "%*s %511s", path) == 1);
	size_t path_len = strcspn(path, "?");
	int len = snprintf(ret_text, TEXT_LEN, "%.*s\n%.*s\n%s\n", (int)strcspn(request->text, " "),
		request->text, (int)path_len, path,
		path[path_len] == '?' ? path + path_len + 1 : "");
	for (const char *name = names; *name != '\0'; name += strspn(name, ";")) {
		char one[128];
		snprintf(one, sizeof(one), "%.*s", (int)strcspn(name, ";"), name);
		const char *value = header_in(request->text, one);
		len += snprintf(ret_text + len, TEXT_LEN - (size_t)len, "%s:%s\n", one,
			value != NULL ? value : "(none was sent)");
		name += strlen(one);
	}
	sha256_hex(request->body, digest);
	snprintf(ret_text + len, TEXT_LEN - (size_t)len, "\n%s\n%s", names, digest);
}

static bool has_right_signature(const struct aws_request *request)
{
	const char *line = header_in(request->text, "Authorization");
	const char *date = header_in(request->text, "X-Amz-Date");
	char day[64], region[64], service[64], names[256], signature[128];
	char canonical[TEXT_LEN], text[1024], want[2 * DIGEST_LEN + 1], key[256];
	unsigned char digest[DIGEST_LEN];
	if (line == NULL || date == NULL ||
		sscanf(line,
			"AWS4-HMAC-SHA256 Credential=%*[^/]/%63[^/]/%63[^/]/%63[^/]/aws4_request, "
			"SignedHeaders=%255[^,], Signature=%127s",
			day, region, service, names, signature) != 5)
		return false;
	canonical_request(request, names, canonical);
	sha256_hex(canonical, want);
	snprintf(text, sizeof(text), "AWS4-HMAC-SHA256\n%s\n%s/%s/%s/aws4_request\n%s", date, day,
		region, service, want);
	snprintf(key, sizeof(key), "AWS4%s", aws_server.signing_key);
	hmac(key, strlen(key), day, digest);
	hmac(digest, DIGEST_LEN, region, digest);
	hmac(digest, DIGEST_LEN, service, digest);
	hmac(digest, DIGEST_LEN, "aws4_request", digest);
	hmac(digest, DIGEST_LEN, text, digest);
	hex(digest, want);
	return strcmp(want, signature) == 0;
}

/* ---- connections ---- */

static void close_connection(struct connection *connection)
{
	if (!connection->is_open)
		return;
	ev_io_stop(aws_server.loop, &connection->io);
	close(connection->io.fd);
	connection->is_open = false;
}

static void answer(struct connection *connection)
{
	static const struct aws_answer none = {"500 Nothing Was Prepared", ""};
	const struct aws_answer *one =
		answered < AWS_REQUESTS_MAX ? &aws_server.answers[answered++] : &none;
	if (one->head == NULL) {
		close_connection(connection);
		return;
	}
	char *text = xasprintf("HTTP/1.1 %s\r\nContent-Length: %zu\r\n\r\n%s", one->head,
		strlen(one->body), one->body);
	must(send(connection->io.fd, text, strlen(text), MSG_NOSIGNAL) == (ssize_t)strlen(text));
	free(text);
}

static bool is_complete(const struct connection *connection)
{
	const char *end = strstr(connection->text, "\r\n\r\n");
	if (end == NULL)
		return false;
	const char *len = header_in(connection->text, "Content-Length");
	size_t body_len = len != NULL ? strtoul(len, NULL, 10) : 0;
	return connection->len >= (size_t)(end - connection->text) + 4 + body_len;
}

static void take_request(struct connection *connection)
{
	must(aws_server.count < AWS_REQUESTS_MAX);
	struct aws_request *request = &aws_server.requests[aws_server.count++];
	request->text = xstrdup(connection->text);
	request->body = strstr(request->text, "\r\n\r\n") + 4;
	request->is_signed = has_right_signature(request);
	connection->len = 0;
	connection->text[0] = '\0';
	answer(connection);
}

static void on_readable(struct ev_loop *loop, ev_io *io, int events)
{
	struct connection *connection = io->data;
	ssize_t got = recv(io->fd, connection->text + connection->len,
		TEXT_LEN - 1 - connection->len, MSG_DONTWAIT);
	if (got <= 0) {
		close_connection(connection);
		return;
	}
	connection->len += (size_t)got;
	connection->text[connection->len] = '\0';
	if (is_complete(connection))
		take_request(connection);
}

static void on_connection(struct ev_loop *loop, ev_io *io, int events)
{
	struct connection *connection = connections;
	while (connection->is_open)
		connection++;
	must(connection < connections + CONNECTIONS_MAX);
	int fd = accept4(io->fd, NULL, NULL, SOCK_CLOEXEC);
	must(fd >= 0);
	connection->is_open = true;
	connection->len = 0;
	ev_io_init(&connection->io, on_readable, fd, EV_READ);
	connection->io.data = connection;
	ev_io_start(loop, &connection->io);
}

/* ---- the server ---- */

void aws_server_answer(const char *head, const char *body)
{
	size_t i = answered;
	while (i < AWS_REQUESTS_MAX && aws_server.answers[i].body != NULL)
		i++;
	must(i < AWS_REQUESTS_MAX);
	aws_server.answers[i] = (struct aws_answer){head, body};
}

const char *aws_server_url(const char *path)
{
	static char url[256];
	snprintf(url, sizeof(url), "http://127.0.0.1:%d/%s", aws_server.port, path);
	return url;
}

void aws_server_start(struct ev_loop *loop)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	must(fd >= 0 && bind(fd, (struct sockaddr *)&address, len) == 0 &&
		listen(fd, CONNECTIONS_MAX) == 0 &&
		getsockname(fd, (struct sockaddr *)&address, &len) == 0);
	aws_server = (struct aws_server){
		.loop = loop, .port = ntohs(address.sin_port), .signing_key = "secret"};
	answered = 0;
	ev_io_init(&listener, on_connection, fd, EV_READ);
	ev_io_start(loop, &listener);
}

void aws_server_stop(void)
{
	ev_io_stop(aws_server.loop, &listener);
	close(listener.fd);
	for (size_t i = 0; i < CONNECTIONS_MAX; i++)
		close_connection(&connections[i]);
	for (size_t i = 0; i < aws_server.count; i++)
		free(aws_server.requests[i].text);
}

static void on_limit(struct ev_loop *loop, ev_timer *timer, int events)
{
	fail_msg("nothing happened for 20 s");
}

void run_until(const bool *flag)
{
	ev_timer limit;
	ev_timer_init(&limit, on_limit, 20., 0.);
	ev_timer_start(aws_server.loop, &limit);
	while (!*flag)
		ev_run(aws_server.loop, EVRUN_ONCE);
	ev_timer_stop(aws_server.loop, &limit);
}

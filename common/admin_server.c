// SPDX-License-Identifier: Apache-2.0
#include "common/admin_server.h"

#include "common/descriptors.h"
#include "common/inherited.h"
#include "common/must.h"
#include "common/process_metrics.h"
#include "common/unix_socket.h"
#include "common/admin_connection.h"
#include "common/xalloc.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LISTENERS_MAX = 8, BACKLOG = 32, ADDRESS_LEN_MAX = 63 };

struct path {
	const char *name;
	unsigned flags;
	admin_answer_fn answer;
	void *ctx;
};

struct listener {
	struct admin_server *admin;
	int fd;
	bool is_local;
	ev_io acceptor;
	struct admin_reply *connections[ADMIN_CONNECTIONS_MAX];
};

struct admin_server {
	struct ev_loop *loop;
	char *made; /* socket file that we have to remove; NULL: none */
	uid_t uids[ADMIN_UIDS_MAX];
	size_t uid_count;
	struct path paths[ADMIN_PATHS_MAX];
	size_t path_count;
	struct listener listeners[LISTENERS_MAX];
	size_t listener_count;
	struct admin_connection_ops ops;
};

/* ---- paths ---- */

void admin_add_path(struct admin_server *admin, const char *path, unsigned flags,
	admin_answer_fn answer, void *ctx)
{
	must(admin->path_count < ADMIN_PATHS_MAX && path[0] == '/');
	admin->paths[admin->path_count++] = (struct path){path, flags, answer, ctx};
}

void admin_add_headers(struct admin_server *admin, const char *lines)
{
	must(strlen(lines) <= ADMIN_HEADERS_LEN_MAX);
	admin->ops.headers = lines;
}

static bool is_served(const struct path *path, const struct admin_request *request)
{
	return request->is_local || (path->flags & ADMIN_PUBLIC) != 0;
}

static bool fits(const struct path *path, struct str name)
{
	if ((path->flags & ADMIN_PREFIX) != 0)
		return str_starts_with(name, str_from(path->name));
	return str_eq_c(name, path->name);
}

/* The longest match; NULL: none. */
static const struct path *find_path(
	const struct admin_server *admin, const struct admin_request *request)
{
	const struct path *best = NULL;
	for (size_t i = 0; i < admin->path_count; i++) {
		const struct path *path = &admin->paths[i];
		if (is_served(path, request) && fits(path, request->path) &&
			(best == NULL || strlen(path->name) > strlen(best->name)))
			best = path;
	}
	return best;
}

static void answer_unknown(const struct admin_server *admin, const struct admin_request *request,
	struct admin_reply *reply)
{
	struct buf text;
	buf_init(&text, 16 * 1024);
	int err = buf_printf(&text, "there is nothing of this name; there is:\n");
	for (size_t i = 0; i < admin->path_count && err == 0; i++) {
		if (is_served(&admin->paths[i], request))
			err = buf_printf(&text, "%s\n", admin->paths[i].name);
	}
	admin_reply_bytes(reply, 404, "text/plain; charset=utf-8", buf_str(&text));
	buf_fini(&text);
}

static void on_request(void *ctx, const struct admin_request *request, struct admin_reply *reply)
{
	const struct admin_server *admin = ((struct listener *)ctx)->admin;
	const struct path *path = find_path(admin, request);
	metric_add(&common_metrics[METRIC_ADMIN_REQUESTS], request->is_local ? 0 : 1, 1);
	if (path == NULL) {
		answer_unknown(admin, request, reply);
		return;
	}
	struct admin_request found = *request;
	found.rest = str_skip(request->path, strlen(path->name));
	path->answer(path->ctx, &found, reply);
}

/* ---- connections ---- */

static void on_gone(void *ctx, struct admin_reply *connection)
{
	struct listener *listener = ctx;
	for (size_t i = 0; i < ADMIN_CONNECTIONS_MAX; i++) {
		if (listener->connections[i] == connection)
			listener->connections[i] = NULL;
	}
}

/* A free place. If there is none, the connection that has been idle longest is closed: nobody can lock a probe
 * out by connecting. NULL: all are being served. */
static struct admin_reply **find_place(struct listener *listener)
{
	struct admin_reply **best = NULL;
	double oldest = 0;
	for (size_t i = 0; i < ADMIN_CONNECTIONS_MAX; i++) {
		struct admin_reply **place = &listener->connections[i];
		if (*place == NULL)
			return place;
		double since = admin_connection_waits_since(*place);
		if (since >= 0 && (best == NULL || since < oldest)) {
			best = place;
			oldest = since;
		}
	}
	if (best != NULL) {
		admin_connection_free(*best);
		*best = NULL;
	}
	return best;
}

static bool may_connect(const struct admin_server *admin, int fd)
{
	uid_t uid = 0;
	if (unix_peer_uid(fd, &uid) != 0)
		return false;
	bool may = uid == 0 || uid == geteuid();
	for (size_t i = 0; i < admin->uid_count; i++)
		may = may || admin->uids[i] == uid;
	return may;
}

static void reject(int fd, struct str answer)
{
	(void)send(fd, answer.p, answer.len, MSG_NOSIGNAL);
	close(fd);
}

static void on_acceptable(struct ev_loop *loop, ev_io *watcher, int events)
{
	struct listener *listener = watcher->data;
	int on = 1;
	int fd = unix_accept(listener->fd);
	if (fd < 0) {
		descriptors_check(fd);
		return;
	}
	if (listener->is_local && !may_connect(listener->admin, fd)) {
		reject(fd, STR("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n"
			       "Connection: close\r\n\r\n"));
		return;
	}
	struct admin_reply **place = find_place(listener);
	if (place == NULL) {
		reject(fd, STR("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n"
			       "Connection: close\r\n\r\n"));
		return;
	}
	if (!listener->is_local)
		(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	*place =
		admin_connection_new(loop, fd, listener->is_local, &listener->admin->ops, listener);
}

/* ---- listening ---- */

static void add_listener(struct admin_server *admin, int fd, bool is_local)
{
	must(admin->listener_count < LISTENERS_MAX);
	struct listener *listener = &admin->listeners[admin->listener_count++];
	listener->admin = admin;
	listener->fd = fd;
	listener->is_local = is_local;
	ev_io_init(&listener->acceptor, on_acceptable, fd, EV_READ);
	listener->acceptor.data = listener;
	ev_io_start(admin->loop, &listener->acceptor);
}

unsigned admin_listen_inherited(struct admin_server *admin)
{
	unsigned kinds = 0;
	int position = 0;
	int fd;
	while (admin->listener_count < LISTENERS_MAX / 2 &&
		(fd = inherited_listener("admin", &position)) >= 0) {
		struct sockaddr_storage address = {0};
		socklen_t len = sizeof(address);
		if (getsockname(fd, (struct sockaddr *)&address, &len) != 0)
			continue;
		bool is_local = address.ss_family == AF_UNIX;
		add_listener(admin, fd, is_local);
		kinds |= is_local ? ADMIN_UNIX : ADMIN_TCP;
	}
	return kinds;
}

int admin_listen_unix(struct admin_server *admin, const char *path)
{
	must(admin->made == NULL);
	int fd = unix_listen(path);
	if (fd < 0)
		return fd;
	admin->made = xstrdup(path);
	add_listener(admin, fd, true);
	return 0;
}

static bool read_port(struct str text, in_port_t *ret_port)
{
	int64_t port = 0;
	if (!str_to_int(text, 0, UINT16_MAX, &port))
		return false;
	*ret_port = htons((uint16_t)port);
	return true;
}

/* Returns the length of the address; 0: invalid. */
static socklen_t read_address(const char *text, struct sockaddr_storage *ret_address)
{
	char host[ADDRESS_LEN_MAX + 1];
	const char *colon = strrchr(text, ':');
	*ret_address = (struct sockaddr_storage){0};
	if (colon == NULL || colon - text > ADDRESS_LEN_MAX)
		return 0;
	bool is_v6 = text[0] == '[' && colon[-1] == ']';
	size_t len = (size_t)(colon - text) - (is_v6 ? 2 : 0);
	memcpy(host, text + (is_v6 ? 1 : 0), len);
	host[len] = '\0';
	if (is_v6) {
		struct sockaddr_in6 *v6 = (void *)ret_address;
		v6->sin6_family = AF_INET6;
		return read_port(str_from(colon + 1), &v6->sin6_port) &&
				       inet_pton(AF_INET6, host, &v6->sin6_addr) == 1
			       ? sizeof(*v6)
			       : 0;
	}
	struct sockaddr_in *v4 = (void *)ret_address;
	v4->sin_family = AF_INET;
	return read_port(str_from(colon + 1), &v4->sin_port) &&
			       inet_pton(AF_INET, host, &v4->sin_addr) == 1
		       ? sizeof(*v4)
		       : 0;
}

int admin_listen_tcp(struct admin_server *admin, const char *address)
{
	struct sockaddr_storage bound;
	int on = 1;
	socklen_t len = read_address(address, &bound);
	if (len == 0)
		return -EINVAL;
	int fd = socket(bound.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, (struct sockaddr *)&bound, len) != 0 || listen(fd, BACKLOG) != 0) {
		int err = -errno;
		close(fd);
		return err;
	}
	add_listener(admin, fd, false);
	return 0;
}

int admin_port(const struct admin_server *admin)
{
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} address = {.v6 = {0}};
	for (size_t i = 0; i < admin->listener_count; i++) {
		socklen_t len = sizeof(address);
		if (admin->listeners[i].is_local ||
			getsockname(admin->listeners[i].fd, &address.any, &len) != 0)
			continue;
		return ntohs(address.any.sa_family == AF_INET6 ? address.v6.sin6_port
							       : address.v4.sin_port);
	}
	return 0;
}

/* ---- lifecycle ---- */

struct admin_server *admin_server_new(
	struct ev_loop *loop, const uid_t *allowed_uids, size_t allowed_count)
{
	must(allowed_count <= ADMIN_UIDS_MAX);
	struct admin_server *admin = xcalloc(1, sizeof(*admin));
	admin->loop = loop;
	admin->ops = (struct admin_connection_ops){on_request, on_gone, NULL};
	admin->uid_count = allowed_count;
	for (size_t i = 0; i < allowed_count; i++)
		admin->uids[i] = allowed_uids[i];
	return admin;
}

const char *admin_server_made(const struct admin_server *admin)
{
	return admin->made;
}

void admin_server_free(struct admin_server *admin)
{
	if (admin == NULL)
		return;
	for (size_t i = 0; i < admin->listener_count; i++) {
		struct listener *listener = &admin->listeners[i];
		ev_io_stop(admin->loop, &listener->acceptor);
		close(listener->fd);
		for (size_t k = 0; k < ADMIN_CONNECTIONS_MAX; k++)
			admin_connection_free(listener->connections[k]);
	}
	if (admin->made != NULL)
		(void)unlink(admin->made);
	free(admin->made);
	free(admin);
}

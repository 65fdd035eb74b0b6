// SPDX-License-Identifier: Apache-2.0
#include "provider-supervisor/listeners.h"

#include "common/clock.h"
#include "common/unix_socket.h"
#include "common/xalloc.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

enum {
	DESCRIPTORS_MAX = 64 * 1024, /* open descriptors of a process that are searched */
	RECEIVE_MAX = TRANSFER_BATCH_MAX * TRANSFER_RECORD_MAX,
};
static const double patience_s = 2;

void listeners_fini(struct listeners *listeners)
{
	for (size_t i = 0; i < listeners->count; i++)
		close(listeners->fds[i]);
	free(listeners->fds);
	*listeners = (struct listeners){0};
}

/* ---- descriptions ---- */

static int option_of(int fd, int option)
{
	int value = -1;
	socklen_t len = sizeof(value);
	return getsockopt(fd, SOL_SOCKET, option, &value, &len) == 0 ? value : -1;
}

/* Unix sockets have names in their proxy's folder, and each proxy makes its own. */
static bool is_for_traffic(int fd)
{
	int domain = option_of(fd, SO_DOMAIN);
	return (domain == AF_INET || domain == AF_INET6) && option_of(fd, SO_TYPE) == SOCK_STREAM &&
	       option_of(fd, SO_ACCEPTCONN) == 1;
}

bool listeners_describe(int fd, char text[LISTENERS_ADDRESS_MAX])
{
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} address = {.v6 = {0}};
	socklen_t len = sizeof(address);
	char ip[INET6_ADDRSTRLEN];
	if (getsockname(fd, &address.any, &len) != 0)
		return false;
	bool is_v4 = address.any.sa_family == AF_INET;
	const void *bytes =
		is_v4 ? (const void *)&address.v4.sin_addr : (const void *)&address.v6.sin6_addr;
	if (inet_ntop(address.any.sa_family, bytes, ip, sizeof(ip)) == NULL)
		return false;
	snprintf(text, LISTENERS_ADDRESS_MAX, "%s\t%u", ip,
		ntohs(is_v4 ? address.v4.sin_port : address.v6.sin6_port));
	return true;
}

/* Takes ownership of fd. */
static int keep_socket(struct listeners *listeners, int fd)
{
	if (!is_for_traffic(fd)) {
		close(fd);
		return 0;
	}
	if (listeners->count == TRANSFER_SOCKETS_MAX) {
		close(fd);
		return -E2BIG;
	}
	listeners->fds =
		xreallocarray(listeners->fds, listeners->count + 1, sizeof(*listeners->fds));
	listeners->fds[listeners->count++] = fd;
	return 0;
}

/* ---- messages with descriptors ---- */

void listeners_make_patient(int fd)
{
	const struct timeval limit = {.tv_sec = 1};
	int flags = fcntl(fd, F_GETFL);
	fcntl(fd, F_SETFL, flags & ~O_NONBLOCK);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
}

int listeners_connect(const char *path)
{
	int fd = unix_connect(path);
	if (fd >= 0)
		listeners_make_patient(fd);
	return fd;
}

union control {
	char bytes[CMSG_SPACE(sizeof(int) * TRANSFER_BATCH_MAX)];
	struct cmsghdr align;
};

int listeners_send(int fd, struct str bytes, const int *fds, size_t count)
{
	union control control = {0};
	struct iovec part = {(void *)(uintptr_t)bytes.p, bytes.len};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
	if (count != 0) {
		message.msg_control = control.bytes;
		message.msg_controllen = CMSG_SPACE(sizeof(int) * count);
		struct cmsghdr *rights = &control.align;
		rights->cmsg_level = SOL_SOCKET;
		rights->cmsg_type = SCM_RIGHTS;
		rights->cmsg_len = CMSG_LEN(sizeof(int) * count);
		memcpy(CMSG_DATA(rights), fds, sizeof(int) * count);
	}
	ssize_t sent = sendmsg(fd, &message, MSG_NOSIGNAL);
	return sent == (ssize_t)bytes.len ? 0 : sent < 0 ? -errno : -EMSGSIZE;
}

static int keep_sockets(struct msghdr *message, struct listeners *listeners, size_t *received)
{
	int err = (message->msg_flags & MSG_CTRUNC) != 0 ? -E2BIG : 0;
	for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part != NULL;
		part = CMSG_NXTHDR(message, part)) {
		if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS)
			continue;
		size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < count; i++) {
			int fd = -1;
			memcpy(&fd, CMSG_DATA(part) + i * sizeof(fd), sizeof(fd));
			++*received;
			int full = keep_socket(listeners, fd);
			err = err != 0 ? err : full;
		}
	}
	return err;
}

ssize_t listeners_receive(int fd, struct buf *in, struct listeners *listeners, size_t *received)
{
	union control control;
	char bytes[4096];
	struct iovec part = {bytes, sizeof(bytes)};
	struct msghdr message = {.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes)};
	ssize_t len = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
	if (len < 0)
		return -errno;
	int err = keep_sockets(&message, listeners, received);
	if (err == 0)
		err = buf_append(in, bytes, (size_t)len);
	return err != 0 ? err : len;
}

/* ---- from an HAProxy ---- */

/* Until all sockets and their records have been received. */
static int receive_all(int fd, size_t total, struct listeners *listeners)
{
	const double end = clock_monotonic_s() + patience_s;
	struct buf records;
	size_t received = 0;
	int err = 0;
	buf_init(&records, (size_t)RECEIVE_MAX * (TRANSFER_SOCKETS_MAX / TRANSFER_BATCH_MAX + 1));
	while (err == 0 && received < total) {
		const int answer = (int)received;
		ssize_t len = listeners_receive(fd, &records, listeners, &received);
		/* HAProxy may no longer read the answer to its last message. */
		(void)send(fd, &answer, sizeof(answer), MSG_NOSIGNAL);
		if (len <= 0)
			err = len == 0 ? -ECONNRESET : (int)len;
		else if (clock_monotonic_s() > end)
			err = -ETIMEDOUT;
	}
	if (err == 0 && (received != total || !transfer_are_records(buf_str(&records), total)))
		err = -EBADMSG;
	buf_fini(&records);
	return err;
}

int listeners_of_haproxy(const char *socket_path, struct listeners *ret_listeners)
{
	struct listeners listeners = {0};
	int total = 0;
	int fd = listeners_connect(socket_path);
	if (fd < 0)
		return fd;
	int err = 0;
	if (send(fd, TRANSFER_REQUEST, strlen(TRANSFER_REQUEST), MSG_NOSIGNAL) < 0)
		err = -errno;
	/* The number is read alone: the bytes after it carry descriptors, which would be lost here. */
	if (err == 0 && recv(fd, &total, sizeof(total), MSG_WAITALL) != (ssize_t)sizeof(total))
		err = -EBADMSG;
	if (err == 0 && (total < 0 || total > TRANSFER_SOCKETS_MAX))
		err = -E2BIG;
	if (err == 0)
		err = receive_all(fd, (size_t)total, &listeners);
	close(fd);
	if (err != 0)
		listeners_fini(&listeners);
	else
		*ret_listeners = listeners;
	return err;
}

/* ---- from any other process ---- */

int listeners_of_process(pid_t pid, int pidfd, struct listeners *ret_listeners)
{
	struct listeners listeners = {0};
	char path[64];
	int err = 0;
	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	DIR *dir = opendir(path);
	if (dir == NULL)
		return -errno;
	const struct dirent *entry;
	for (size_t seen = 0; err == 0 && (entry = readdir(dir)) != NULL; seen++) {
		char *end;
		long number = strtol(entry->d_name, &end, 10);
		if (end == entry->d_name || *end != 0)
			continue;
		int fd = (int)syscall(SYS_pidfd_getfd, pidfd, (int)number, 0);
		if (fd >= 0)
			err = keep_socket(&listeners, fd);
		else if (errno != EBADF) /* closed in the meantime */
			err = -errno;
		if (seen == DESCRIPTORS_MAX)
			err = -E2BIG;
	}
	closedir(dir);
	if (err != 0)
		listeners_fini(&listeners);
	else
		*ret_listeners = listeners;
	return err;
}

/* ---- to an HAProxy ---- */

static int receive_request(int fd)
{
	char request[sizeof(TRANSFER_REQUEST) - 1];
	ssize_t len = recv(fd, request, sizeof(request), MSG_WAITALL);
	if (len < 0)
		return -errno;
	return len == (ssize_t)sizeof(request) &&
			       memcmp(request, TRANSFER_REQUEST, sizeof(request)) == 0
		       ? 0
		       : -EBADMSG;
}

int listeners_answer(int fd, const struct listeners *listeners)
{
	const int total = (int)listeners->count;
	int answer;
	struct buf records;
	int err = receive_request(fd);
	if (err == 0 && send(fd, &total, sizeof(total), MSG_NOSIGNAL) < 0)
		err = -errno;
	buf_init(&records, RECEIVE_MAX);
	for (size_t done = 0; err == 0 && done < listeners->count;) {
		size_t count = listeners->count - done;
		if (count > TRANSFER_BATCH_MAX)
			count = TRANSFER_BATCH_MAX;
		buf_clear(&records);
		transfer_add_records(&records, count);
		err = listeners_send(fd, buf_str(&records), listeners->fds + done, count);
		if (err == 0 &&
			recv(fd, &answer, sizeof(answer), MSG_WAITALL) != (ssize_t)sizeof(answer))
			err = -EBADMSG;
		done += count;
	}
	buf_fini(&records);
	return err;
}

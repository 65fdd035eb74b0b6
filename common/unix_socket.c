// SPDX-License-Identifier: Apache-2.0
#include "common/unix_socket.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static int fill_address(const char *path, struct sockaddr_un *address)
{
	*address = (struct sockaddr_un){.sun_family = AF_UNIX};
	if (strlen(path) >= sizeof(address->sun_path))
		return -ENAMETOOLONG;
	memcpy(address->sun_path, path, strlen(path) + 1);
	return 0;
}

int unix_connect(const char *path)
{
	struct sockaddr_un address;
	int err = fill_address(path, &address);
	if (err != 0)
		return err;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0) {
		err = -errno;
		close(fd);
		return err;
	}
	return fd;
}

/* A socket file of a dead listener refuses connections; only then may we replace it. */
static int remove_stale(const char *path)
{
	struct stat info;
	if (lstat(path, &info) != 0)
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(info.st_mode))
		return -EEXIST;
	int fd = unix_connect(path);
	if (fd >= 0) {
		close(fd);
		return -EADDRINUSE;
	}
	if (fd != -ECONNREFUSED)
		return fd == -EAGAIN ? -EADDRINUSE : fd;
	return unlink(path) == 0 ? 0 : -errno;
}

static int bind_and_listen(int fd, const struct sockaddr_un *address)
{
	/* The mode is set before anybody can connect: the file is created without rights for others. */
	mode_t old = umask(0117);
	int err = bind(fd, (const struct sockaddr *)address, sizeof(*address)) == 0 ? 0 : -errno;
	umask(old);
	if (err == 0 && listen(fd, 16) != 0)
		err = -errno;
	return err;
}

int unix_listen(const char *path)
{
	struct sockaddr_un address;
	int err = fill_address(path, &address);
	if (err == 0)
		err = remove_stale(path);
	if (err != 0)
		return err;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	err = bind_and_listen(fd, &address);
	if (err != 0) {
		close(fd);
		return err;
	}
	return fd;
}

int unix_accept(int listener)
{
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	return fd >= 0 ? fd : -errno;
}

int unix_peer_uid(int fd, uid_t *ret_uid)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) != 0)
		return -errno;
	*ret_uid = peer.uid;
	return 0;
}

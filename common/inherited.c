// SPDX-License-Identifier: Apache-2.0
#include "common/inherited.h"

#include "common/str.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { LISTEN_FDS_START = 3, LISTEN_FDS_MAX = 64 };

static bool is_bound_to(int fd, const char *name)
{
	struct sockaddr_un address = {0};
	socklen_t len = sizeof(address);
	if (getsockname(fd, (struct sockaddr *)&address, &len) != 0 ||
		address.sun_family != AF_UNIX)
		return false;
	const char *base = strrchr(address.sun_path, '/');
	return base != NULL && strcmp(base + 1, name) == 0;
}

/* Whether the name at `index` of the colon-separated list is `name`. */
static bool is_named(const char *names, int index, const char *name)
{
	while (names != NULL && index-- > 0) {
		names = strchr(names, ':');
		names = names != NULL ? names + 1 : NULL;
	}
	if (names == NULL)
		return false;
	return str_eq_c((struct str){names, strcspn(names, ":")}, name);
}

/* How many were passed to this process. */
static int64_t inherited_count(void)
{
	const char *pid = getenv("LISTEN_PID");
	const char *fds = getenv("LISTEN_FDS");
	int64_t number = 0;
	int64_t count = 0;
	if (pid == NULL || fds == NULL || !str_to_int(str_from(pid), 1, INT32_MAX, &number) ||
		number != getpid() || !str_to_int(str_from(fds), 1, LISTEN_FDS_MAX, &count))
		return 0;
	return count;
}

int inherited_network_socket(void)
{
	int64_t count = inherited_count();
	for (int fd = LISTEN_FDS_START; fd < LISTEN_FDS_START + count; fd++) {
		struct sockaddr_storage address = {0};
		socklen_t len = sizeof(address);
		if (getsockname(fd, (struct sockaddr *)&address, &len) == 0 &&
			address.ss_family != AF_UNIX)
			return fd;
	}
	return -ENOENT;
}

int inherited_listener(const char *name, int *position)
{
	int64_t count = inherited_count();
	while (*position < count) {
		int index = (*position)++;
		int fd = LISTEN_FDS_START + index;
		if (is_named(getenv("LISTEN_FDNAMES"), index, name) || is_bound_to(fd, name)) {
			(void)fcntl(fd, F_SETFD, FD_CLOEXEC);
			(void)fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
			return fd;
		}
	}
	return -ENOENT;
}

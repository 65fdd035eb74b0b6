// SPDX-License-Identifier: Apache-2.0
#include "common/notify.h"

#include "common/str.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static void notify_send(const char *text)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	if (path == NULL || strlen(path) < 2 || strlen(path) >= sizeof(address.sun_path))
		return;
	memcpy(address.sun_path, path, strlen(path));
	/* '@' denotes an abstract socket, whose name begins with NUL. */
	if (path[0] == '@')
		address.sun_path[0] = '\0';
	/* Created once: a sandboxed process may not be able to create another. */
	static int fd = -1;
	if (fd < 0)
		fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return;
	socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path));
	/* The manager is told again at the next change, and has its own timeouts if it hears nothing. */
	(void)sendto(fd, text, strlen(text), MSG_NOSIGNAL, (struct sockaddr *)&address, len);
}

void notify_ready(void)
{
	notify_send("READY=1");
}

void notify_stopping(void)
{
	notify_send("STOPPING=1");
}

void notify_watchdog(void)
{
	notify_send("WATCHDOG=1");
}

void notify_status(const char *format, ...)
{
	char text[512] = "STATUS=";
	size_t used = strlen(text);
	va_list args;
	va_start(args, format);
	vsnprintf(text + used, sizeof(text) - used, format, args);
	va_end(args);
	/* A newline would start another assignment. */
	for (char *p = text; *p != '\0'; p++) {
		if (*p == '\n')
			*p = ' ';
	}
	notify_send(text);
}

double notify_watchdog_period(void)
{
	const char *usec = getenv("WATCHDOG_USEC");
	const char *pid = getenv("WATCHDOG_PID");
	int64_t period = 0;
	int64_t number = 0;
	if (usec == NULL || !str_to_int(str_from(usec), 1, INT64_MAX, &period))
		return 0;
	if (pid != NULL &&
		(!str_to_int(str_from(pid), 1, INT32_MAX, &number) || number != getpid()))
		return 0;
	return (double)period / 2e6;
}

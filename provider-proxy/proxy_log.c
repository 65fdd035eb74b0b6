// SPDX-License-Identifier: Apache-2.0
#include "provider-proxy/proxy_log.h"

#include "common/xalloc.h"
#include "provider-proxy/log_events.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static const double look_every_s = 1;
/* During growth: a proxy can write tens of MB per second. */
static const double trim_every_s = 0.05;

enum { FILE_COUNT = 2 };

struct proxy_log {
	struct ev_loop *loop;
	char *paths[FILE_COUNT];
	ev_timer look;
};

/* Returns whether it was truncated. The proxy appends, so it continues at the beginning. */
static bool keep_short(const char *path)
{
	struct stat st;
	if (stat(path, &st) != 0 || st.st_size <= PROXY_LOG_LEN_MAX)
		return false;
	int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return false;
	close(fd);
	log_event(&EV_PROXY_LOG_CUT, LOG_STR("file", path), LOG_INT("bytes", st.st_size));
	return true;
}

static void on_look(struct ev_loop *loop, ev_timer *watcher, int events)
{
	struct proxy_log *log = watcher->data;
	bool is_flood = false;
	for (size_t i = 0; i < FILE_COUNT; i++)
		is_flood = keep_short(log->paths[i]) || is_flood;
	watcher->repeat = is_flood ? trim_every_s : look_every_s;
	ev_timer_again(loop, watcher);
}

struct proxy_log *proxy_log_new(struct ev_loop *loop, const char *dir)
{
	/* Of HAProxy and of nginx, see provider-supervisor/kind.c. */
	static const char *const names[FILE_COUNT] = {"proxy.log", "nginx.log"};
	struct proxy_log *log = xcalloc(1, sizeof(*log));
	log->loop = loop;
	for (size_t i = 0; i < FILE_COUNT; i++)
		log->paths[i] = xasprintf("%s/%s", dir, names[i]);
	ev_timer_init(&log->look, on_look, look_every_s, look_every_s);
	log->look.data = log;
	ev_timer_start(loop, &log->look);
	return log;
}

void proxy_log_free(struct proxy_log *log)
{
	if (log == NULL)
		return;
	ev_timer_stop(log->loop, &log->look);
	for (size_t i = 0; i < FILE_COUNT; i++)
		free(log->paths[i]);
	free(log);
}

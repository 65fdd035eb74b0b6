// SPDX-License-Identifier: Apache-2.0
#include "provider-supervisor/access_lines.h"

#include "common/clock.h"
#include "common/must.h"
#include "common/xalloc.h"
#include "provider-supervisor/access_log.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

struct access_lines {
	struct access_log *source;
	char *file; /* NULL: the proxy writes what is logged itself */
	struct traffic_counts *counts;
	struct buf wanted; /* empty between two calls */
};

/* What the file does not take is lost: there is no room in memory. */
static void append(const struct access_lines *lines, struct str text)
{
	if (text.len == 0 || lines->file == NULL)
		return;
	int fd = open(lines->file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0640);
	if (fd < 0)
		return;
	while (text.len != 0) {
		ssize_t done = write(fd, text.p, text.len);
		if (done <= 0)
			break;
		text = str_skip(text, (size_t)done);
	}
	close(fd);
}

/* Of one line, what is to be logged. Nothing of connections that ended before HAProxy knew what to do with them, most of which are TLS handshakes that
 * failed, also those by which the provider asks whether we listen. */
static struct str take_line(struct access_lines *lines, struct str line)
{
	struct traffic_counts *counts = lines->counts;
	if (line.p[0] != ACCESS_LINES_ERROR_MARK)
		return traffic_counts_take(counts, line, true);
	struct str rest = line;
	(void)str_cut(&rest, ' ');
	bool is_request = str_starts_with(str_skip(line, 1), STR("0 "));
	struct str left = traffic_counts_take(counts, rest, is_request);
	return is_request ? left : STR_NONE;
}

static void take(void *ctx, struct str text)
{
	struct access_lines *lines = ctx;
	struct timespec now = clock_wall();
	traffic_counts_set_time(lines->counts, now.tv_sec * 1000 + now.tv_nsec / 1000000);
	while (text.len != 0) {
		const char *end = str_find(text, '\n');
		struct str line = {text.p, end != NULL ? (size_t)(end - text.p) + 1 : text.len};
		/* No longer than what came. */
		must(buf_append_str(&lines->wanted, take_line(lines, line)) == 0);
		text = str_skip(text, line.len);
	}
	append(lines, buf_str(&lines->wanted));
	buf_clear(&lines->wanted);
}

struct access_lines *access_lines_new(
	struct ev_loop *loop, const char *path, const char *file, struct traffic_counts *counts)
{
	struct access_lines *lines = xcalloc(1, sizeof(*lines));
	lines->file = file != NULL ? xstrdup(file) : NULL;
	lines->counts = counts;
	buf_init(&lines->wanted, ACCESS_LOG_LINE_MAX);
	lines->source = access_log_new_taken(loop, path, file == NULL, take, lines);
	return lines;
}

void access_lines_renew(struct access_lines *lines)
{
	access_log_renew(lines->source);
}

void access_lines_free(struct access_lines *lines)
{
	if (lines == NULL)
		return;
	access_log_free(lines->source);
	buf_fini(&lines->wanted);
	free(lines->file);
	free(lines);
}

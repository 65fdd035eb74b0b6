// SPDX-License-Identifier: Apache-2.0
#include "provider-supervisor/access_log.h"

#include "common/files.h"
#include "common/str.h"
#include "common/xalloc.h"
#include "provider-supervisor/log_events.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static const double look_every_s = 0.2;

enum {
	PAGE_LEN = 4096,
	PLACE_LEN_MAX = 32,
	AT_ONCE_MAX = 8 * 1024 * 1024, /* then others of the loop have their turn */
	SHORT_LEN_MAX =
		1024 *
		1024, /* where no memory can be freed otherwise, the file is emptied beyond this */
};

/* A file that long is emptied when all of it was copied, though a line that is written at that moment is lost: file systems have limits. */
static const off_t long_len_max = (off_t)1 << 40;

struct access_log {
	struct ev_loop *loop;
	ev_timer look;
	char *path;
	char *place_path;
	char *to;                                  /* NULL: standard output */
	void (*take)(void *ctx, struct str lines); /* in place of that; NULL: nobody */
	void *ctx;
	bool is_appended; /* the proxy appends; else it goes on where it was */
	int in;           /* negative: not open */
	int place;
	int out;
	off_t at;    /* all before has been copied; lines begin there */
	off_t freed; /* memory of all before has been freed */
	bool cannot_free;
	bool has_failed; /* and that has been told */
	char piece[ACCESS_LOG_LINE_MAX];
};

/* ---- where we are ---- */

static off_t read_place(const struct access_log *log, off_t max)
{
	char text[PLACE_LEN_MAX];
	int64_t place = 0;
	ssize_t got = log->place >= 0 ? pread(log->place, text, sizeof(text), 0) : -1;
	struct str line = {text, got > 0 ? (size_t)got : 0};
	const char *end = str_find(line, '\n');
	if (end == NULL || !str_to_int((struct str){text, (size_t)(end - text)}, 0, max, &place))
		return 0;
	return (off_t)place;
}

static void write_place(const struct access_log *log)
{
	char text[PLACE_LEN_MAX];
	int len = snprintf(text, sizeof(text), "%" PRId64 "\n", (int64_t)log->at);
	if (log->place >= 0 && pwrite(log->place, text, (size_t)len, 0) < 0)
		return;
}

static void begin_anew(struct access_log *log)
{
	log->at = log->freed = 0;
	write_place(log);
}

static void free_copied(struct access_log *log, off_t size)
{
	off_t end = log->at - log->at % PAGE_LEN;
	if (end > log->freed && !log->cannot_free)
		log->cannot_free = fallocate(log->in, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
					   log->freed, end - log->freed) != 0;
	log->freed = end;
	bool is_long = log->at > (log->cannot_free ? SHORT_LEN_MAX : long_len_max);
	if (is_long && log->at == size && ftruncate(log->in, 0) == 0 && log->is_appended)
		begin_anew(log);
}

/* ---- files ---- */

static void close_in(struct access_log *log)
{
	if (log->in >= 0)
		close(log->in);
	if (log->place >= 0)
		close(log->place);
	log->in = log->place = -1;
}

static bool is_other(int fd, const char *path)
{
	struct stat held;
	struct stat named;
	return fstat(fd, &held) != 0 || stat(path, &named) != 0 || held.st_ino != named.st_ino ||
	       held.st_dev != named.st_dev;
}

static bool open_in(struct access_log *log)
{
	struct stat st;
	bool is_new = log->in >= 0 && is_other(log->in, log->path);
	if (log->in >= 0 && !is_new)
		return true;
	close_in(log);
	/* That was in the one of before. */
	if (is_new && log->is_appended)
		(void)files_remove(log->place_path);
	log->in = open(log->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (log->in < 0)
		return false;
	log->place = open(log->place_path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0640);
	log->at = !log->is_appended          ? read_place(log, INT64_MAX)
		  : fstat(log->in, &st) == 0 ? read_place(log, st.st_size)
					     : 0;
	log->freed = 0;
	return true;
}

static bool open_out(struct access_log *log)
{
	if (log->to == NULL || log->take != NULL)
		return true;
	if (log->out >= 0 && is_other(log->out, log->to)) {
		close(log->out);
		log->out = -1;
	}
	if (log->out < 0)
		log->out =
			open(log->to, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY, 0640);
	return log->out >= 0;
}

/* ---- copying ---- */

/* Whole lines of at most PIPE_BUF bytes: a pipe that can be written takes so many, and takes them together. */
static size_t short_lines(struct str text)
{
	size_t len = text.len < PAGE_LEN ? text.len : PAGE_LEN;
	const char *end = memrchr(text.p, '\n', len);
	return end != NULL ? (size_t)(end - text.p) + 1 : len;
}

/* The bytes that were taken; 0: none at the moment; negative: an errno. */
static ssize_t write_some(int fd, struct str text)
{
	struct stat st;
	struct pollfd ready = {.fd = fd, .events = POLLOUT};
	ssize_t done = -1;
	if (fstat(fd, &st) != 0)
		return -errno;
	if (S_ISSOCK(st.st_mode)) {
		done = send(fd, text.p, short_lines(text), MSG_DONTWAIT | MSG_NOSIGNAL);
	} else if (S_ISREG(st.st_mode)) {
		done = write(fd, text.p, text.len);
	} else {
		if (poll(&ready, 1, 0) == 0)
			return 0;
		done = write(fd, text.p, short_lines(text));
	}
	return done >= 0 ? done : errno == EAGAIN || errno == EINTR ? 0 : -errno;
}

static void tell_failure(struct access_log *log, int err)
{
	if (!log->has_failed)
		log_event(&EV_ACCESS_LOG_FAILED,
			LOG_STR("file", log->to != NULL ? log->to : "standard output"),
			LOG_ERRNO(err));
	log->has_failed = true;
}

/* All of the text, or as much as can be written without waiting. */
static size_t write_all(struct access_log *log, struct str text)
{
	size_t done = 0;
	if (log->take != NULL) {
		log->take(log->ctx, text);
		return text.len;
	}
	while (done < text.len) {
		ssize_t some = write_some(log->out, str_skip(text, done));
		if (some < 0)
			tell_failure(log, (int)some);
		if (some <= 0)
			return done;
		log->has_failed = false;
		done += (size_t)some;
	}
	return done;
}

/* The whole lines that begin where we are; empty: there are none yet. */
static struct str next_lines(struct access_log *log)
{
	ssize_t got = pread(log->in, log->piece, sizeof(log->piece), log->at);
	struct str text = {log->piece, got > 0 ? (size_t)got : 0};
	const char *end = text.len != 0 ? memrchr(text.p, '\n', text.len) : NULL;
	if (end != NULL)
		text.len = (size_t)(end - text.p) + 1;
	else if (text.len < sizeof(log->piece))
		text.len = 0;
	return text;
}

/* The newest half of what may wait is kept. */
static void drop_oldest(struct access_log *log, off_t size)
{
	off_t from = size - ACCESS_LOG_WAITING_MAX / 2;
	off_t before = log->at;
	log->at = from;
	struct str text = next_lines(log);
	const char *end = text.len != 0 ? str_find(text, '\n') : NULL;
	log->at = end != NULL ? from + (end - text.p) + 1 : size;
	log_event(&EV_ACCESS_LOG_DROPPED, LOG_INT("bytes", (int64_t)(log->at - before)));
}

void access_log_copy(struct access_log *log)
{
	struct stat st;
	struct str lines;
	if (!open_in(log) || fstat(log->in, &st) != 0)
		return;
	/* It was emptied, by somebody else. */
	if (st.st_size < log->at && log->is_appended)
		begin_anew(log);
	if (st.st_size <= log->at)
		return;
	off_t before = log->at;
	if (!open_out(log))
		tell_failure(log, -errno);
	while ((log->out >= 0 || log->take != NULL) && log->at - before < AT_ONCE_MAX &&
		(lines = next_lines(log)).len != 0) {
		size_t done = write_all(log, lines);
		log->at += (off_t)done;
		if (done < lines.len)
			break;
	}
	if (st.st_size - log->at > ACCESS_LOG_WAITING_MAX)
		drop_oldest(log, st.st_size);
	write_place(log);
	free_copied(log, st.st_size);
}

static void on_look(struct ev_loop *loop, ev_timer *watcher, int events)
{
	access_log_copy(watcher->data);
}

static struct access_log *new_log(struct ev_loop *loop, const char *path)
{
	struct access_log *log = xcalloc(1, sizeof(*log));
	log->loop = loop;
	log->path = xstrdup(path);
	log->place_path = xasprintf("%s.at", path);
	log->in = log->place = log->out = -1;
	ev_timer_init(&log->look, on_look, look_every_s, look_every_s);
	log->look.data = log;
	ev_timer_start(loop, &log->look);
	return log;
}

struct access_log *access_log_new(struct ev_loop *loop, const char *path, const char *to)
{
	struct access_log *log = new_log(loop, path);
	log->is_appended = true;
	log->to = strcmp(to, "stdout") == 0 ? NULL : xstrdup(to);
	log->out = log->to == NULL ? STDOUT_FILENO : -1;
	return log;
}

struct access_log *access_log_new_taken(struct ev_loop *loop, const char *path, bool is_appended,
	void (*take)(void *ctx, struct str lines), void *ctx)
{
	struct access_log *log = new_log(loop, path);
	log->is_appended = is_appended;
	log->take = take;
	log->ctx = ctx;
	return log;
}

void access_log_renew(struct access_log *log)
{
	access_log_copy(log);
	close_in(log);
	(void)files_remove(log->path);
	(void)files_remove(log->place_path);
}

void access_log_free(struct access_log *log)
{
	if (log == NULL)
		return;
	access_log_copy(log);
	ev_timer_stop(log->loop, &log->look);
	close_in(log);
	if (log->to != NULL && log->out >= 0)
		close(log->out);
	free(log->path);
	free(log->place_path);
	free(log->to);
	free(log);
}

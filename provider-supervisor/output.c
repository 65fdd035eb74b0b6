// SPDX-License-Identifier: Apache-2.0
#include "provider-supervisor/output.h"

#include "common/xalloc.h"

#include <fcntl.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

static const double look_every_s = 0.5;
/* During a flood: a proxy can write tens of MB per second. */
static const double trim_every_s = 0.02;

enum { SHOWN_AT_ONCE_MAX = 64 * 1024 };

struct output {
	struct ev_loop *loop;
	char *path;
	bool is_shown;
	void (*on_words)(void *ctx);
	void *ctx;
	ev_timer look;
	int written; /* inotify: the file was written; -1: not available */
	ev_io on_written;
	ev_timer trim;
	bool is_trimmed; /* trimmed since the last look: what was new then is no longer in the file */
	off_t start;     /* where the output of the current proxy begins */
	off_t seen;
	char words[OUTPUT_LAST_LEN_MAX + 1];
};

static void read_words(struct output *output, int fd, off_t size)
{
	char text[OUTPUT_LAST_LEN_MAX + 1];
	bool is_cut = size - output->start > OUTPUT_LAST_LEN_MAX;
	off_t from = is_cut ? size - (off_t)sizeof(text) : output->start;
	ssize_t got = pread(fd, text, sizeof(text), from);
	struct str last = {text, got > 0 ? (size_t)got : 0};
	last = str_last_lines(last, '\n', OUTPUT_LAST_LEN_MAX);
	memcpy(output->words, last.p, last.len);
	output->words[last.len] = 0;
	for (char *c = output->words; *c != 0; c++) {
		if ((unsigned char)*c < ' ')
			*c = *c == '\n' ? '\t' : ' ';
	}
}

/* Between two looks at most this much is shown: nobody would read more. */
static void show(const struct output *output, int fd, off_t size)
{
	static char piece[SHOWN_AT_ONCE_MAX];
	off_t from =
		size - output->seen > SHOWN_AT_ONCE_MAX ? size - SHOWN_AT_ONCE_MAX : output->seen;
	ssize_t got = pread(fd, piece, (size_t)(size - from), from);
	if (got > 0 && write(STDERR_FILENO, piece, (size_t)got) < 0)
		return;
}

/* Truncates the file; the proxy appends, so it continues at the beginning. */
static void keep_short(struct output *output, int fd, off_t size)
{
	if (size <= OUTPUT_LEN_MAX)
		return;
	read_words(output, fd, size);
	if (ftruncate(fd, 0) == 0)
		output->start = output->seen = 0;
	output->is_trimmed = true;
}

void output_look(struct output *output)
{
	struct stat st;
	int fd = open(output->path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return;
	bool is_new = fstat(fd, &st) == 0 && st.st_size != output->seen;
	if (is_new && st.st_size < output->seen)
		output->start = output->seen = 0;
	if (is_new) {
		read_words(output, fd, st.st_size);
		if (output->is_shown)
			show(output, fd, st.st_size);
		output->seen = st.st_size;
	}
	if (is_new)
		keep_short(output, fd, st.st_size);
	close(fd);
	if (is_new || output->is_trimmed)
		output->on_words(output->ctx);
	output->is_trimmed = false;
}

/* ---- a flood ---- */

/* Watches the current file, which may have been replaced. */
static void watch_file(struct output *output)
{
	if (output->written < 0 || ev_is_active(&output->trim) ||
		inotify_add_watch(output->written, output->path, IN_MODIFY) < 0)
		return;
	ev_io_start(output->loop, &output->on_written);
}

static void on_written(struct ev_loop *loop, ev_io *watcher, int events)
{
	struct output *output = watcher->data;
	char told[4096];
	while (read(output->written, told, sizeof(told)) > 0)
		continue;
	/* However much it writes, we wake up only this often. */
	ev_io_stop(loop, watcher);
	ev_timer_start(loop, &output->trim);
}

static void on_trim(struct ev_loop *loop, ev_timer *watcher, int events)
{
	struct output *output = watcher->data;
	struct stat st;
	int fd = open(output->path, O_RDWR | O_CLOEXEC);
	if (fd >= 0 && fstat(fd, &st) == 0)
		keep_short(output, fd, st.st_size);
	if (fd >= 0)
		close(fd);
	watch_file(output);
}

/* ---- public functions ---- */

static void on_look(struct ev_loop *loop, ev_timer *watcher, int events)
{
	struct output *output = watcher->data;
	output_look(output);
	watch_file(output);
}

void output_mark(struct output *output)
{
	output_look(output);
	output->start = output->seen;
	output->words[0] = 0;
}

const char *output_last(const struct output *output)
{
	return output->words;
}

struct output *output_new(struct ev_loop *loop, const char *path, bool is_shown,
	void (*on_words)(void *ctx), void *ctx)
{
	struct output *output = xcalloc(1, sizeof(*output));
	struct stat st;
	output->loop = loop;
	output->path = xstrdup(path);
	output->is_shown = is_shown;
	output->on_words = on_words;
	output->ctx = ctx;
	if (stat(path, &st) == 0)
		output->start = output->seen = st.st_size;
	ev_timer_init(&output->look, on_look, look_every_s, look_every_s);
	output->look.data = output;
	ev_timer_start(loop, &output->look);
	output->written = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	ev_io_init(&output->on_written, on_written, output->written, EV_READ);
	output->on_written.data = output;
	ev_timer_init(&output->trim, on_trim, trim_every_s, 0);
	output->trim.data = output;
	watch_file(output);
	return output;
}

void output_free(struct output *output)
{
	if (output == NULL)
		return;
	ev_timer_stop(output->loop, &output->look);
	ev_timer_stop(output->loop, &output->trim);
	ev_io_stop(output->loop, &output->on_written);
	if (output->written >= 0)
		close(output->written);
	free(output->path);
	free(output);
}

// SPDX-License-Identifier: Apache-2.0
#include "provider-proxy/output.h"

#include "common/xalloc.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static const double look_every_s = 0.5;

enum { SHOWN_AT_ONCE_MAX = 64 * 1024 };

struct output {
	struct ev_loop *loop;
	char *path;
	bool is_shown;
	void (*on_words)(void *ctx);
	void *ctx;
	ev_timer look;
	off_t start; /* of what the present proxy wrote */
	off_t seen;
	char words[OUTPUT_LAST_WORDS_MAX + 1];
};

static void read_words(struct output *output, int fd, off_t size)
{
	off_t from = size > OUTPUT_LAST_WORDS_MAX ? size - OUTPUT_LAST_WORDS_MAX : 0;
	ssize_t got = pread(fd, output->words, OUTPUT_LAST_WORDS_MAX,
		from > output->start ? from : output->start);
	output->words[got > 0 ? got : 0] = 0;
	for (char *c = output->words; *c != 0; c++)
		*c = (unsigned char)*c < ' ' ? ' ' : *c;
}

/* More than this between two looks is left out: whoever reads it would not, either. */
static void show(const struct output *output, int fd, off_t size)
{
	static char piece[SHOWN_AT_ONCE_MAX];
	off_t from =
		size - output->seen > SHOWN_AT_ONCE_MAX ? size - SHOWN_AT_ONCE_MAX : output->seen;
	ssize_t got = pread(fd, piece, (size_t)(size - from), from);
	if (got > 0 && write(STDERR_FILENO, piece, (size_t)got) < 0)
		return;
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
	/* The proxy appends: it goes on at the beginning. */
	if (is_new && st.st_size > OUTPUT_LEN_MAX && ftruncate(fd, 0) == 0)
		output->start = output->seen = 0;
	close(fd);
	if (is_new)
		output->on_words(output->ctx);
}

static void on_look(struct ev_loop *loop, ev_timer *watcher, int events)
{
	(void)loop;
	(void)events;
	output_look(watcher->data);
}

void output_mark(struct output *output)
{
	output_look(output);
	output->start = output->seen;
	output->words[0] = 0;
}

const char *output_last_words(const struct output *output)
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
	return output;
}

void output_free(struct output *output)
{
	if (output == NULL)
		return;
	ev_timer_stop(output->loop, &output->look);
	free(output->path);
	free(output);
}

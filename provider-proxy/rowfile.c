// SPDX-License-Identifier: Apache-2.0
#include "provider-proxy/rowfile.h"

#include "common/must.h"
#include "common/xalloc.h"
#include "common/files.h"
#include "provider-proxy/names.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

enum {
	ROWFILE_LEN_MAX = 512 * 1024 * 1024,
	ROWFILE_SLACK = 64 * 1024, /* wasted bytes that do not justify a rewrite */
};

struct rowfile {
	struct rows *rows;
	enum row_table table;
	char *path;
	int fd;          /* -1: not written yet, or after a failure */
	uint64_t end;    /* size of the file */
	uint64_t wasted; /* bytes in lines that no longer count */
	bool is_dirty;   /* something was not synced */
};

static const char head[] = "# Written by Sluice; changes are lost.\n# length ";

/* Length of the file in decimal digits, so that it can be updated in place. */
enum { LENGTH_AT = sizeof(head) - 1, LENGTH_LEN = 12, HEAD_LEN = LENGTH_AT + LENGTH_LEN + 1 };

struct rowfile *rowfile_new(struct rows *rows, enum row_table table, const char *path)
{
	struct rowfile *file = xcalloc(1, sizeof(*file));
	file->rows = rows;
	file->table = table;
	file->path = xstrdup(path);
	file->fd = -1;
	return file;
}

static void close_file(struct rowfile *file)
{
	if (file->fd >= 0)
		close(file->fd);
	file->fd = -1;
	file->is_dirty = false;
	rows_set_filed(file->rows, file->table, false);
}

void rowfile_free(struct rowfile *file)
{
	if (file == NULL)
		return;
	if (file->is_dirty)
		fdatasync(file->fd);
	close_file(file);
	free(file->path);
	free(file);
}

const char *rowfile_path(const struct rowfile *file)
{
	return file->path;
}

bool rowfile_is_written(const struct rowfile *file)
{
	return file->fd >= 0;
}

/* ---- reading ---- */

static bool next_line(struct str *rest, struct str *ret_line)
{
	const char *end = str_find(*rest, '\n');
	if (end == NULL)
		return false;
	*ret_line = (struct str){rest->p, (size_t)(end - rest->p)};
	*rest = str_skip(*rest, ret_line->len + 1);
	return true;
}

static void read_line(
	struct str line, void (*on_row)(void *ctx, struct str key, struct str value), void *ctx)
{
	const char *space = str_find(line, ' ');
	if (line.len == 0 || line.p[0] == '#' || space == NULL || space == line.p)
		return;
	size_t key_len = (size_t)(space - line.p);
	on_row(ctx, (struct str){line.p, key_len}, str_skip(line, key_len + 1));
}

int rowfile_read(struct rowfile *file, void (*on_row)(void *ctx, struct str key, struct str value),
	void *ctx)
{
	struct buf content;
	buf_init(&content, ROWFILE_LEN_MAX);
	int err = files_read(file->path, &content);
	struct str rest = buf_str(&content);
	struct str line;
	/* A last line without its newline was torn. */
	while (err == 0 && next_line(&rest, &line))
		read_line(line, on_row, ctx);
	buf_fini(&content);
	return err;
}

/* ---- a damaged file ---- */

static bool is_word(struct str word)
{
	for (size_t i = 0; i < word.len; i++) {
		if (word.p[i] <= 0x20 || word.p[i] >= 0x7f)
			return false;
	}
	return word.len != 0;
}

/* A struck-out line, or a key and a value. */
static bool is_good_line(struct str line)
{
	const char *space = str_find(line, ' ');
	if (space == NULL || line.len == 0)
		return false;
	size_t key_len = (size_t)(space - line.p);
	return is_word((struct str){line.p, key_len}) && is_word(str_skip(line, key_len + 1));
}

/* The length in the header; 0: none. */
static uint64_t read_length(struct str text)
{
	uint64_t len = 0;
	if (text.len < HEAD_LEN || memcmp(text.p, head, LENGTH_AT) != 0)
		return 0;
	for (const char *c = text.p + LENGTH_AT; c < text.p + LENGTH_AT + LENGTH_LEN; c++) {
		if (*c < '0' || *c > '9')
			return 0;
		len = len * 10 + (uint64_t)(*c - '0');
	}
	return len;
}

static const char *problem_of(struct str text)
{
	uint64_t len = read_length(text);
	struct str line;
	if (len < HEAD_LEN)
		return "is not as it was written";
	/* If the file is shorter than that, rows are missing. If it is longer, the machine stopped in the middle of a write. */
	if (text.len < len)
		return "is cut off";
	struct str rest = str_skip(text, HEAD_LEN);
	while (next_line(&rest, &line)) {
		if (!is_good_line(line))
			return "is not as it was written";
	}
	return NULL;
}

const char *rowfile_problem(const struct rowfile *file)
{
	struct buf content;
	buf_init(&content, ROWFILE_LEN_MAX);
	const char *problem = files_read_own(file->path, &content);
	if (problem == NULL)
		problem = problem_of(buf_str(&content));
	buf_fini(&content);
	return problem;
}

static int append_good_lines(struct buf *out, struct str text)
{
	struct str line;
	int err = 0;
	while (err == 0 && next_line(&text, &line)) {
		if (is_good_line(line) && line.p[0] != '#')
			err = buf_append(out, line.p, line.len + 1);
	}
	return err;
}

static void write_length(struct buf *text)
{
	char digits[LENGTH_LEN + 1];
	snprintf(digits, sizeof(digits), "%0*zu", LENGTH_LEN, buf_len(text) % 1000000000000U);
	memcpy(text->data + text->start + LENGTH_AT, digits, LENGTH_LEN);
}

static int append_head(struct buf *out)
{
	return buf_printf(out, "%s%0*d\n", head, LENGTH_LEN, 0);
}

int rowfile_salvage(struct rowfile *file)
{
	struct buf old;
	struct buf new;
	close_file(file);
	buf_init(&old, ROWFILE_LEN_MAX);
	buf_init(&new, ROWFILE_LEN_MAX);
	bool is_ours = files_read_own(file->path, &old) == NULL;
	int err = append_head(&new);
	if (err == 0 && is_ours)
		err = append_good_lines(&new, buf_str(&old));
	if (err == 0) {
		write_length(&new);
		err = files_write(file->path, buf_str(&new), 0600);
	}
	buf_fini(&old);
	buf_fini(&new);
	return err;
}

/* ---- writing ---- */

static size_t line_len(const struct row *row, struct str value)
{
	return row_key(row).len + 1 + value.len + 1;
}

static int append_row(struct buf *out, const struct row *row)
{
	int err = buf_append_str(out, row_key(row));
	if (err == 0)
		err = buf_append(out, " ", 1);
	if (err == 0)
		err = buf_append_str(out, row_wanted(row));
	if (err == 0)
		err = buf_append(out, "\n", 1);
	return err;
}

int rowfile_text(struct rows *rows, enum row_table table, struct buf *out)
{
	must(buf_len(out) == 0);
	int err = append_head(out);
	struct row *row = rows_first(rows, table);
	for (; err == 0 && row != NULL; row = rows_next(row)) {
		if (row_wanted(row).p != NULL)
			err = append_row(out, row);
	}
	if (err == 0)
		write_length(out);
	return err;
}

static void note_places(struct rowfile *file)
{
	uint64_t at = HEAD_LEN;
	struct row *row = rows_first(file->rows, file->table);
	for (; row != NULL; row = rows_next(row)) {
		bool stands = row_wanted(row).p != NULL;
		row_set_filed(row, stands ? at : 0);
		if (stands)
			at += line_len(row, row_wanted(row));
	}
	file->end = at;
	file->wasted = 0;
	rows_set_filed(file->rows, file->table, true);
}

int rowfile_write(struct rowfile *file)
{
	struct buf content;
	buf_init(&content, ROWFILE_LEN_MAX);
	int err = rowfile_text(file->rows, file->table, &content);
	if (err == 0)
		err = files_write(file->path, buf_str(&content), 0600);
	buf_fini(&content);
	if (err != 0)
		return err;
	close_file(file);
	file->fd = open(file->path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
	if (file->fd < 0)
		return -errno;
	note_places(file);
	return 0;
}

static int write_at(const struct rowfile *file, struct str bytes, uint64_t at)
{
	size_t done = 0;
	while (done < bytes.len) {
		ssize_t got =
			pwrite(file->fd, bytes.p + done, bytes.len - done, (off_t)(at + done));
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		done += (size_t)got;
	}
	return 0;
}

/* A line that did not fit is removed again, or the next one would continue it. */
static int append_line(struct rowfile *file, const struct row *row)
{
	struct buf line;
	buf_init(&line, ROWFILE_LEN_MAX);
	int err = append_row(&line, row);
	if (err == 0)
		err = write_at(file, buf_str(&line), file->end);
	if (err == 0)
		file->end += buf_len(&line);
	else if (ftruncate(file->fd, (off_t)file->end) != 0)
		close_file(file);
	buf_fini(&line);
	return err;
}

static int note_length(const struct rowfile *file)
{
	char digits[LENGTH_LEN + 1];
	snprintf(digits, sizeof(digits), "%0*" PRIu64, LENGTH_LEN, file->end % 1000000000000U);
	return write_at(file, (struct str){digits, LENGTH_LEN}, LENGTH_AT);
}

static int strike_out(struct rowfile *file, uint64_t place)
{
	return write_at(file, STR("#"), place);
}

static bool is_mostly_waste(const struct rowfile *file)
{
	return file->wasted > ROWFILE_SLACK && file->wasted > file->end / 2;
}

int rowfile_put(struct rowfile *file, struct row *row)
{
	struct str wanted = row_wanted(row);
	uint64_t old = row_place(row);
	if (file->fd < 0 || is_mostly_waste(file))
		return rowfile_write(file);
	if (row_is_filed(row))
		return 0;
	uint64_t new = file->end;
	int err = wanted.p != NULL ? append_line(file, row) : 0;
	if (err == 0 && wanted.p != NULL)
		err = note_length(file);
	file->is_dirty = file->fd >= 0;
	if (err == 0 && old != 0)
		err = strike_out(file, old);
	if (err != 0) {
		/* The file may contain the row twice now. */
		close_file(file);
		return err;
	}
	if (old != 0)
		file->wasted += row_key(row).len + 1 + NAME_LEN + 1;
	row_set_filed(row, wanted.p != NULL ? new : 0);
	return 0;
}

int rowfile_sync(struct rowfile *file)
{
	if (!file->is_dirty || file->fd < 0)
		return 0;
	file->is_dirty = false;
	return fdatasync(file->fd) == 0 ? 0 : -errno;
}

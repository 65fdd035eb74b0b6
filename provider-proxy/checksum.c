// SPDX-License-Identifier: Apache-2.0
#include "provider-proxy/checksum.h"

#include "common/files.h"
#include "provider-proxy/names.h"

#include <inttypes.h>
#include <stdio.h>

static const char mark[] = "# checksum ";

enum { MARK_LEN = sizeof(mark) - 1, LINE_LEN = MARK_LEN + 16 + 1 };

static void make_line(struct str text, char line[LINE_LEN + 1])
{
	/* Absent and empty texts count as equal. */
	text = text.len != 0 ? text : STR("");
	snprintf(line, LINE_LEN + 1, "%s%016" PRIx64 "\n", mark, name_digest(&text, 1));
}

int checksum_append(struct buf *out, size_t from)
{
	char line[LINE_LEN + 1];
	make_line(str_skip(buf_str(out), from), line);
	return buf_append(out, line, LINE_LEN);
}

static int write_with(int (*put)(const char *path, struct str content, mode_t mode),
	const char *path, struct str content, mode_t mode)
{
	struct buf text;
	buf_init(&text, content.len + LINE_LEN);
	int err = buf_append_str(&text, content);
	if (err == 0)
		err = checksum_append(&text, 0);
	if (err == 0)
		err = put(path, buf_str(&text), mode);
	/* It may contain a key. */
	buf_wipe_fini(&text);
	return err;
}

int checksum_write(const char *path, struct str content, mode_t mode)
{
	return write_with(files_write, path, content, mode);
}

int checksum_write_loose(const char *path, struct str content, mode_t mode)
{
	return write_with(files_write_loose, path, content, mode);
}

bool checksum_take(struct str *text)
{
	char line[LINE_LEN + 1];
	if (text->len < LINE_LEN)
		return false;
	struct str rest = {text->p, text->len - LINE_LEN};
	make_line(rest, line);
	if (memcmp(rest.p + rest.len, line, LINE_LEN) != 0)
		return false;
	*text = rest;
	return true;
}

const char *checksum_read(const char *path, struct buf *out)
{
	size_t from = buf_len(out);
	const char *problem = files_read_own(path, out);
	struct str text = str_skip(buf_str(out), from);
	if (problem == NULL && !checksum_take(&text))
		problem = "is not as it was written";
	buf_cut(out, problem != NULL ? from : from + text.len);
	return problem;
}

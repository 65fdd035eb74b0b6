// SPDX-License-Identifier: Apache-2.0
#include "common/json_text.h"

#include <errno.h>

static bool is_special(char byte)
{
	static const bool specials[UINT8_MAX + 1] = {
		[0 ... 0x1f] = true, ['"'] = true, ['\\'] = true};
	return specials[(unsigned char)byte];
}

static int put_special(struct buf *out, struct str text)
{
	int err = 0;
	size_t from = 0;
	for (size_t i = 0; i < text.len && err == 0; i++) {
		unsigned char byte = (unsigned char)text.p[i];
		if (!is_special(text.p[i]))
			continue;
		if (i > from)
			err = buf_append(out, text.p + from, i - from);
		if (err == 0)
			err = buf_printf(out, byte < 0x20 ? "\\u%04x" : "\\%c", byte);
		from = i + 1;
	}
	if (err == 0 && text.len > from)
		err = buf_append(out, text.p + from, text.len - from);
	return err;
}

int json_text_put(struct buf *out, struct str text)
{
	size_t plain = 0;
	while (plain < text.len && !is_special(text.p[plain]))
		plain++;
	/* The fast path for nearly all texts: quotes and bytes at once. */
	if (plain == text.len) {
		uint8_t *room = buf_reserve(out, text.len + 2);
		if (room == NULL)
			return -EMSGSIZE;
		room[0] = '"';
		str_put(room + 1, text);
		room[1 + text.len] = '"';
		buf_commit(out, text.len + 2);
		return 0;
	}
	int err = buf_append(out, "\"", 1);
	if (err == 0)
		err = put_special(out, text);
	return err == 0 ? buf_append(out, "\"", 1) : err;
}

// SPDX-License-Identifier: Apache-2.0
#include "sluicectl/jsontext.h"

int jsontext_put(struct buf *out, struct str text)
{
	int err = buf_append(out, "\"", 1);
	size_t from = 0;
	for (size_t i = 0; i < text.len && err == 0; i++) {
		unsigned char byte = (unsigned char)text.p[i];
		if (byte >= 0x20 && byte != '"' && byte != '\\')
			continue;
		if (i > from)
			err = buf_append(out, text.p + from, i - from);
		if (err == 0)
			err = buf_printf(out, byte < 0x20 ? "\\u%04x" : "\\%c", byte);
		from = i + 1;
	}
	if (err == 0 && text.len > from)
		err = buf_append(out, text.p + from, text.len - from);
	if (err == 0)
		err = buf_append(out, "\"", 1);
	return err;
}

// SPDX-License-Identifier: Apache-2.0
#include "provider-nginx/quote.h"

#include <errno.h>

static bool is_harmless(struct str text)
{
	for (size_t i = 0; i < text.len; i++) {
		char c = text.p[i];
		if (c < 0x20 || c > 0x7e || c == '$')
			return false;
	}
	return true;
}

int quote_append(struct buf *out, struct str text)
{
	if (text.len > QUOTE_LEN_MAX || !is_harmless(text))
		return -EINVAL;
	uint8_t *at = buf_reserve(out, 2 * text.len + 2);
	if (at == NULL)
		return -EMSGSIZE;
	size_t len = 0;
	at[len++] = '"';
	for (size_t i = 0; i < text.len; i++) {
		if (text.p[i] == '"' || text.p[i] == '\\')
			at[len++] = '\\';
		at[len++] = (uint8_t)text.p[i];
	}
	at[len++] = '"';
	buf_commit(out, len);
	return 0;
}

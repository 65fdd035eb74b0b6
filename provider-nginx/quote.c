// SPDX-License-Identifier: Apache-2.0
#include "provider-nginx/quote.h"

#include "provider-proxy/template.h"

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

int quote_escape(struct buf *out, struct str value, bool is_quoted)
{
	if (value.len > QUOTE_LEN_MAX || !is_harmless(value))
		return -EINVAL;
	if (!is_quoted)
		return template_append_bare(out, value);
	uint8_t *at = buf_reserve(out, 2 * value.len + 1);
	if (at == NULL)
		return -EMSGSIZE;
	size_t len = 0;
	for (size_t i = 0; i < value.len; i++) {
		if (value.p[i] == '"' || value.p[i] == '\\')
			at[len++] = '\\';
		at[len++] = (uint8_t)value.p[i];
	}
	buf_commit(out, len);
	return 0;
}

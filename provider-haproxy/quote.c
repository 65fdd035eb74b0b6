// SPDX-License-Identifier: Apache-2.0
#include "provider-haproxy/quote.h"

#include "provider-proxy/template.h"

#include <errno.h>

static int append_config_byte(struct buf *out, char c)
{
	uint8_t byte = (uint8_t)c;
	if (c == '\\' || c == '"' || c == '$')
		return buf_printf(out, "\\%c", c);
	if (byte < 0x20 || byte == 0x7f)
		return buf_printf(out, "\\x%02x", byte);
	return buf_append(out, &c, 1);
}

int quote_escape(struct buf *out, struct str value, bool is_quoted)
{
	if (value.len > QUOTE_WORD_LEN_MAX || str_find(value, '\0') != NULL)
		return -EINVAL;
	if (!is_quoted)
		return template_append_bare(out, value);
	int err = 0;
	for (size_t i = 0; i < value.len && err == 0; i++)
		err = append_config_byte(out, value.p[i]);
	return err;
}

int quote_config(struct buf *out, struct str value)
{
	int err = buf_append(out, "\"", 1);
	if (err == 0)
		err = quote_escape(out, value, true);
	return err != 0 ? err : buf_append(out, "\"", 1);
}

int quote_command(struct buf *out, struct str value)
{
	if (value.len == 0 || value.len > QUOTE_WORD_LEN_MAX)
		return -EINVAL;
	for (size_t i = 0; i < value.len; i++) {
		uint8_t byte = (uint8_t)value.p[i];
		if (byte < 0x20 || byte == 0x7f)
			return -EINVAL;
		bool is_special = byte == '\\' || byte == ' ' || byte == ';';
		int err = is_special ? buf_append(out, "\\", 1) : 0;
		if (err == 0)
			err = buf_append(out, &byte, 1);
		if (err != 0)
			return err;
	}
	return 0;
}

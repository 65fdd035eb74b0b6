// SPDX-License-Identifier: Apache-2.0
#include "provider-supervisor/transfer.h"

#include "common/must.h"
#include "common/xalloc.h"

#include <stdio.h>

void transfer_add_records(struct buf *out, size_t count)
{
	static const char record[2 + sizeof(int)] = {0};
	must(count <= TRANSFER_BATCH_MAX);
	for (size_t i = 0; i < count; i++)
		must(buf_append(out, record, sizeof(record)) == 0);
}

/* A length byte and that many bytes. */
static bool skip_name(struct str *rest)
{
	size_t len = rest->len != 0 ? 1 + (size_t)(unsigned char)rest->p[0] : 1;
	if (rest->len < len)
		return false;
	*rest = str_skip(*rest, len);
	return true;
}

bool transfer_are_records(struct str bytes, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		bool has_namespace = skip_name(&bytes);
		bool has_interface = has_namespace && skip_name(&bytes);
		if (!has_interface || bytes.len < sizeof(int))
			return false;
		bytes = str_skip(bytes, sizeof(int));
	}
	return bytes.len == 0;
}

char *transfer_nginx_variable(int first, size_t count)
{
	enum { NUMBER_LEN_MAX = sizeof("2147483647;") };
	must(count <= TRANSFER_SOCKETS_MAX);
	size_t size = count * NUMBER_LEN_MAX + 1;
	char *text = xcalloc(1, size);
	size_t len = 0;
	for (size_t i = 0; i < count; i++)
		len += (size_t)snprintf(text + len, size - len, "%d;", first + (int)i);
	return text;
}

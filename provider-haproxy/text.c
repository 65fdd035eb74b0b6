// SPDX-License-Identifier: Apache-2.0
#include "provider-haproxy/text.h"

#include "common/must.h"

void text_add(struct buf *out, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	must(buf_vprintf(out, format, args) == 0);
	va_end(args);
}

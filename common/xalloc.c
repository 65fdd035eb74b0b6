// SPDX-License-Identifier: Apache-2.0
#include "common/xalloc.h"

#include "common/fatal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void xalloc_fail(void)
{
	fatal_tell(FATAL_OUT_OF_MEMORY, "no memory is left; the process ends");
	_exit(EXIT_FAILURE);
}

void *xmalloc(size_t size)
{
	void *ptr = malloc(size != 0 ? size : 1);
	if (ptr == NULL)
		xalloc_fail();
	return ptr;
}

void *xcalloc(size_t count, size_t size)
{
	void *ptr = calloc(count != 0 ? count : 1, size != 0 ? size : 1);
	if (ptr == NULL)
		xalloc_fail();
	return ptr;
}

void *xrealloc(void *ptr, size_t size)
{
	void *grown = realloc(ptr, size != 0 ? size : 1);
	if (grown == NULL)
		xalloc_fail();
	return grown;
}

void *xreallocarray(void *ptr, size_t count, size_t size)
{
	size_t bytes = 0;
	if (__builtin_mul_overflow(count, size, &bytes))
		xalloc_fail();
	return xrealloc(ptr, bytes);
}

char *xstrdup(const char *text)
{
	return xmemdup(text, strlen(text) + 1);
}

char *xstrndup(const char *text, size_t len)
{
	size_t used = strnlen(text, len);
	char *copy = xmalloc(used + 1);
	memcpy(copy, text, used);
	copy[used] = '\0';
	return copy;
}

void *xmemdup(const void *data, size_t len)
{
	void *copy = xmalloc(len);
	if (len != 0)
		memcpy(copy, data, len);
	return copy;
}

char *xasprintf(const char *format, ...)
{
	char *text = NULL;
	va_list args;
	va_start(args, format);
	int len = vasprintf(&text, format, args);
	va_end(args);
	if (len < 0 || text == NULL)
		xalloc_fail();
	return text;
}

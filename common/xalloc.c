// SPDX-License-Identifier: Apache-2.0
#include "common/xalloc.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

[[gnu::noreturn, gnu::cold]] static void out_of_memory(void)
{
	static const char line[] =
		"level=error event=out-of-memory msg=\"the process ends; its "
		"supervisor should restart it, with more memory if this repeats\"\n";
	/* stdio may want memory, so the line goes out by itself; nothing can be done if that fails.
	 */
	ssize_t ignored = write(STDERR_FILENO, line, sizeof(line) - 1);
	(void)ignored;
	_exit(EXIT_FAILURE);
}

void *xmalloc(size_t size)
{
	void *ptr = malloc(size != 0 ? size : 1);
	if (ptr == NULL)
		out_of_memory();
	return ptr;
}

void *xcalloc(size_t count, size_t size)
{
	void *ptr = calloc(count != 0 ? count : 1, size != 0 ? size : 1);
	if (ptr == NULL)
		out_of_memory();
	return ptr;
}

void *xrealloc(void *ptr, size_t size)
{
	void *grown = realloc(ptr, size != 0 ? size : 1);
	if (grown == NULL)
		out_of_memory();
	return grown;
}

void *xreallocarray(void *ptr, size_t count, size_t size)
{
	size_t bytes = 0;
	if (__builtin_mul_overflow(count, size, &bytes))
		out_of_memory();
	return xrealloc(ptr, bytes);
}

void *xaligned_alloc(size_t alignment, size_t size)
{
	void *ptr = aligned_alloc(alignment, size);
	if (ptr == NULL)
		out_of_memory();
	return ptr;
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
		out_of_memory();
	return text;
}

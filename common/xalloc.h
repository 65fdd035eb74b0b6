// SPDX-License-Identifier: Apache-2.0
/*
 * Allocation that cannot fail: when memory is out, one clear line is written and the process ends
 * with EXIT_FAILURE. Every process is restartable and rebuilds its state, so this is the safest
 * answer. It also means that any size taken from outside must be checked against a named limit
 * before it reaches these functions.
 */
#pragma once

#include <stddef.h>
#include <stdlib.h>

/* What the others do when memory is out, for a library that allocates by itself and says that it could not. */
[[gnu::noreturn, gnu::cold]] void xalloc_fail(void);

[[gnu::malloc, gnu::returns_nonnull]] void *xmalloc(size_t size);
/* Zeroed. Ends the process when count * size overflows. */
[[gnu::malloc, gnu::returns_nonnull]] void *xcalloc(size_t count, size_t size);
[[gnu::returns_nonnull]] void *xrealloc(void *ptr, size_t size);
/* Like realloc of an array; ends the process when count * size overflows. */
[[gnu::returns_nonnull]] void *xreallocarray(void *ptr, size_t count, size_t size);
[[gnu::malloc, gnu::returns_nonnull]] char *xstrdup(const char *text);
[[gnu::malloc, gnu::returns_nonnull]] char *xstrndup(const char *text, size_t len);
[[gnu::malloc, gnu::returns_nonnull]] void *xmemdup(const void *data, size_t len);
[[gnu::malloc, gnu::returns_nonnull, gnu::format(printf, 1, 2)]] char *xasprintf(
	const char *format, ...);

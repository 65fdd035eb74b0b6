// SPDX-License-Identifier: Apache-2.0
/*
 * Memory for very many small things that live long: without the header and the rounding that malloc adds to each,
 * and packed together. Whoever frees something says how large it was. What is freed is used again for things of
 * about the same size, and never goes back to the system; so this is for state, whose size comes and goes
 * with the cluster, and not for what a burst needs.
 *
 * One pool per process; not thread-safe. Builds with an address sanitizer use malloc, so that it sees every one
 * of them, and check the sizes.
 */
#pragma once

#include <stddef.h>

/* Larger things are allocated by malloc. */
enum { SLAB_SIZE_MAX = 512 };

/* Not zeroed; aligned for pointers. Never NULL. Size 0 is as good as 1. */
void *slab_alloc(size_t size);
/* Zeroed. */
void *slab_zalloc(size_t size);
/* `size` as it was asked for. NULL is nothing. */
void slab_free(void *memory, size_t size);
/* Bytes that were asked for, rounded, and not freed. For tests. */
size_t slab_used(void);

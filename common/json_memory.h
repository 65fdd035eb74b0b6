// SPDX-License-Identifier: Apache-2.0
/*
 * Where cJSON's nodes and texts live. cJSON allocates and frees each of them, but nearly all documents are small and freed
 * before the next one is parsed: those share one block, which is empty again as soon as everything in it was freed. What does
 * not fit comes from malloc. Builds with an address sanitizer use malloc for all, so that it sees each allocation.
 *
 * One block per process; not thread-safe.
 */
#pragma once

#include <stddef.h>

/* Never NULL; aligned for pointers and doubles. */
void *json_memory_take(size_t size);
/* Of json_memory_take(), or of malloc. NULL is nothing. */
void json_memory_give(void *memory);

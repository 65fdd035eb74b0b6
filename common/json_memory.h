// SPDX-License-Identifier: Apache-2.0
/*
 * Where cJSON's nodes and texts live. It asks for each of them, and gives each back, but nearly all documents are small and gone
 * before the next one comes: those share one room, which is empty again as soon as everything in it has been given back. What
 * does not fit comes from malloc. Builds with an address sanitizer use malloc for all, so that it sees each.
 *
 * One room for the process, which is not safe for threads.
 */
#pragma once

#include <stddef.h>

/* Never NULL; aligned for pointers and doubles. */
void *json_memory_take(size_t size);
/* Of json_memory_take(), or of malloc. NULL is nothing. */
void json_memory_give(void *memory);

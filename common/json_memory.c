// SPDX-License-Identifier: Apache-2.0
#include "common/json_memory.h"

#include "common/must.h"
#include "common/xalloc.h"

#include <stdalign.h>
#include <stdint.h>

#if defined(__SANITIZE_ADDRESS__)
#define ALL_IS_MALLOC 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ALL_IS_MALLOC 1
#endif
#endif
#ifndef ALL_IS_MALLOC
#define ALL_IS_MALLOC 0
#endif

enum { BLOCK_LEN = 64 * 1024, GRAIN = 8 };

static struct {
	alignas(GRAIN) unsigned char bytes[BLOCK_LEN];
	size_t used;
	size_t count; /* of allocations in use */
} block;

void *json_memory_take(size_t size)
{
	if (ALL_IS_MALLOC || size > BLOCK_LEN - GRAIN)
		return xmalloc(size);
	size_t len = (size + GRAIN - 1) / GRAIN * GRAIN;
	if (len > BLOCK_LEN - block.used)
		return xmalloc(size);
	void *memory = block.bytes + block.used;
	block.used += len;
	block.count++;
	return memory;
}

void json_memory_give(void *memory)
{
	if ((uintptr_t)memory - (uintptr_t)block.bytes >= BLOCK_LEN) {
		free(memory);
		return;
	}
	must(block.count != 0);
	if (--block.count == 0)
		block.used = 0;
}

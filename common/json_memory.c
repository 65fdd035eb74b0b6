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

enum { ROOM_LEN = 64 * 1024, GRAIN = 8 };

static struct {
	alignas(GRAIN) unsigned char bytes[ROOM_LEN];
	size_t used;
	size_t count; /* of allocations in use */
} room;

void *json_memory_take(size_t size)
{
	if (ALL_IS_MALLOC || size > ROOM_LEN - GRAIN)
		return xmalloc(size);
	size_t len = (size + GRAIN - 1) / GRAIN * GRAIN;
	if (len > ROOM_LEN - room.used)
		return xmalloc(size);
	void *memory = room.bytes + room.used;
	room.used += len;
	room.count++;
	return memory;
}

void json_memory_give(void *memory)
{
	if ((uintptr_t)memory - (uintptr_t)room.bytes >= ROOM_LEN) {
		free(memory);
		return;
	}
	must(room.count != 0);
	if (--room.count == 0)
		room.used = 0;
}

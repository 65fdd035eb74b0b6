// SPDX-License-Identifier: Apache-2.0
/* Digests by which texts are told apart, where whoever makes two alike fools only himself: FNV-1a. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define DIGEST_START UINT64_C(0xcbf29ce484222325)

/* The digest of what came before, and of these bytes as a part of their own. */
static inline uint64_t digest_mix(uint64_t digest, const void *bytes, size_t len)
{
	const unsigned char *p = bytes;
	for (size_t i = 0; i < len; i++)
		digest = (digest ^ p[i]) * UINT64_C(0x100000001b3);
	return (digest ^ 0xff) * UINT64_C(0x100000001b3);
}

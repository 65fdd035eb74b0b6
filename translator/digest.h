// SPDX-License-Identifier: Apache-2.0
/* FNV-1a digests that tell texts apart, for uses where whoever forges a collision harms only himself.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define DIGEST_START UINT64_C(0xcbf29ce484222325)

/* Extends the digest by these bytes, as a separate part. */
static inline uint64_t digest_mix(uint64_t digest, const void *bytes, size_t len)
{
	const unsigned char *p = bytes;
	for (size_t i = 0; i < len; i++)
		digest = (digest ^ p[i]) * UINT64_C(0x100000001b3);
	return (digest ^ 0xff) * UINT64_C(0x100000001b3);
}

// SPDX-License-Identifier: Apache-2.0
#include "provider-common/digest.h"

#include <sha2.h>

uint64_t digest_of(struct str bytes)
{
	uint8_t sum[SHA256_DIGEST_LENGTH];
	SHA2_CTX context;
	uint64_t digest;
	SHA256Init(&context);
	SHA256Update(&context, (const uint8_t *)bytes.p, bytes.len);
	SHA256Final(sum, &context);
	memcpy(&digest, sum, sizeof(digest));
	return digest;
}

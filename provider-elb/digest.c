// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/digest.h"

#include "common/must.h"

void digest_begin(struct digest *digest)
{
	SHA256Init(&digest->context);
}

void digest_add_int(struct digest *digest, uint64_t number)
{
	uint8_t bytes[8];
	for (int i = 0; i < 8; i++)
		bytes[i] = (uint8_t)(number >> (56 - 8 * i));
	SHA256Update(&digest->context, bytes, sizeof(bytes));
}

void digest_add_str(struct digest *digest, struct str text)
{
	digest_add_int(digest, text.len);
	if (text.len != 0)
		SHA256Update(&digest->context, (const uint8_t *)text.p, text.len);
}

struct str digest_end(struct digest *digest, size_t len, struct arena *arena)
{
	static const char digits[] = "0123456789abcdef";
	uint8_t sum[SHA256_DIGEST_LENGTH];
	must(len <= DIGEST_LEN_MAX);
	SHA256Final(sum, &digest->context);
	char *text = arena_alloc(arena, len + 1);
	for (size_t i = 0; i < len; i++)
		text[i] = digits[(i % 2 == 0 ? sum[i / 2] >> 4 : sum[i / 2]) & 0xf];
	return (struct str){text, len};
}

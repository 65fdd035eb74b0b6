// SPDX-License-Identifier: Apache-2.0
#include "provider-common/digest.h"

#include "common/must.h"

#include <inttypes.h>
#include <stdio.h>

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

uint64_t digest_end(struct digest *digest)
{
	uint8_t sum[SHA256_DIGEST_LENGTH];
	uint64_t value = 0;
	SHA256Final(sum, &digest->context);
	for (int i = 0; i < 8; i++)
		value = value << 8 | sum[i];
	return value;
}

struct str digest_end_text(struct digest *digest, size_t len, struct arena *arena)
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

uint64_t digest_of(struct str text)
{
	struct digest digest;
	digest_begin(&digest);
	digest_add_str(&digest, text);
	return digest_end(&digest);
}

void digest_text(uint64_t digest, char ret_text[DIGEST_TEXT_LEN + 1])
{
	snprintf(ret_text, DIGEST_TEXT_LEN + 1, "%016" PRIx64, digest);
}

bool digest_parse(struct str text, uint64_t *ret_digest)
{
	uint64_t value = 0;
	if (text.len != DIGEST_TEXT_LEN)
		return false;
	for (size_t i = 0; i < text.len; i++) {
		static const char digits[] = "0123456789abcdef";
		const char *at = text.p[i] != '\0' ? strchr(digits, text.p[i]) : NULL;
		if (at == NULL)
			return false;
		value = value << 4 | (uint64_t)(at - digits);
	}
	*ret_digest = value;
	return true;
}

// SPDX-License-Identifier: Apache-2.0
#include "provider-proxy/names.h"

#include <sha2.h>

static void encode(const uint8_t *digest, char *out)
{
	static const char digits[] = "abcdefghijklmnopqrstuvwxyz234567";
	uint32_t bits = 0;
	unsigned held = 0;
	for (size_t i = 0, used = 0; i < NAME_LEN - 1; i++) {
		if (held < 5) {
			bits = bits << 8 | digest[used++];
			held += 8;
		}
		held -= 5;
		out[i] = digits[bits >> held & 31];
	}
}

struct name name_of(char letter, struct str id)
{
	uint8_t digest[SHA256_DIGEST_LENGTH];
	SHA2_CTX context;
	struct name name = {.text = {letter}};
	SHA256Init(&context);
	SHA256Update(&context, (const uint8_t *)id.p, id.len);
	SHA256Final(digest, &context);
	encode(digest, name.text + 1);
	return name;
}

bool name_is_one(char letter, struct str text)
{
	if (text.len != NAME_LEN || text.p[0] != letter)
		return false;
	for (size_t i = 1; i < NAME_LEN; i++) {
		char c = text.p[i];
		if (!(c >= 'a' && c <= 'z') && !(c >= '2' && c <= '7'))
			return false;
	}
	return true;
}

uint64_t name_digest(const struct str *texts, size_t count)
{
	uint8_t digest[SHA256_DIGEST_LENGTH];
	SHA2_CTX context;
	uint64_t result = 0;
	SHA256Init(&context);
	for (size_t i = 0; i < count; i++) {
		/* The length before each text, so that concatenations cannot collide. */
		uint64_t len = texts[i].p != NULL ? texts[i].len : UINT64_MAX;
		SHA256Update(&context, (const uint8_t *)&len, sizeof(len));
		SHA256Update(&context, (const uint8_t *)texts[i].p, texts[i].len);
	}
	SHA256Final(digest, &context);
	for (size_t i = 0; i < 8; i++)
		result = result << 8 | digest[i];
	return result;
}

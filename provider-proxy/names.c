// SPDX-License-Identifier: Apache-2.0
/* libcrypto's SHA-256 uses processor instructions, libmd's does not: two of these were a fifth of what a changed endpoint takes. EVP_Digest() would be
 * the same code, but each call costs as much as the digest of a name. */
#define OPENSSL_SUPPRESS_DEPRECATED

#include "provider-proxy/names.h"

#include "common/ascii.h"
#include "common/must.h"

#include <openssl/sha.h>

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
	SHA256_CTX context;
	struct name name = {.text = {letter}};
	must(SHA256_Init(&context) == 1);
	must(SHA256_Update(&context, id.p, id.len) == 1);
	must(SHA256_Final(digest, &context) == 1);
	encode(digest, name.text + 1);
	return name;
}

bool name_is_one(char letter, struct str text)
{
	if (text.len != NAME_LEN || text.p[0] != letter)
		return false;
	for (size_t i = 1; i < NAME_LEN; i++) {
		char c = text.p[i];
		if (!ascii_is_lower(c) && !(c >= '2' && c <= '7'))
			return false;
	}
	return true;
}

uint64_t name_digest(const struct str *texts, size_t count)
{
	uint8_t digest[SHA256_DIGEST_LENGTH];
	SHA256_CTX context;
	uint64_t result = 0;
	must(SHA256_Init(&context) == 1);
	for (size_t i = 0; i < count; i++) {
		/* The length before each text, so that concatenations cannot collide. */
		uint64_t len = texts[i].p != NULL ? texts[i].len : UINT64_MAX;
		must(SHA256_Update(&context, &len, sizeof(len)) == 1);
		must(SHA256_Update(&context, texts[i].p, texts[i].len) == 1);
	}
	must(SHA256_Final(digest, &context) == 1);
	for (size_t i = 0; i < 8; i++)
		result = result << 8 | digest[i];
	return result;
}

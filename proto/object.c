// SPDX-License-Identifier: Apache-2.0
/* Objects and their revisions. Only programs that send objects link this, and with it libcrypto. */

/* libcrypto's SHA-256 uses processor instructions, which makes it ten times as fast as libmd's; a
 * snapshot is a hundred thousand blocks. EVP_Digest() would be the same code, but each call costs as
 * much as the digest of an object. */
#define OPENSSL_SUPPRESS_DEPRECATED

#include "common/must.h"
#include "proto/message.h"
#include "proto/messages.h"

#include <openssl/sha.h>

/* The digest is the first eight bytes of SHA-256 of the body with a revision of zero. It need not
 * be secret, but a tenant must not be able to create two states of an object with the same digest,
 * which rules out cheap hashes. */
static uint64_t digest_of(const uint8_t *body, size_t len)
{
	uint8_t sum[SHA256_DIGEST_LENGTH];
	SHA256_CTX context;
	must(SHA256_Init(&context) == 1);
	must(SHA256_Update(&context, body, len) == 1);
	must(SHA256_Final(sum, &context) == 1);
	uint64_t rev = 0;
	for (int i = 0; i < 8; i++)
		rev = rev << 8 | sum[i];
	return rev;
}

/* Offset of the eight bytes of the revision: "rev" is the first key of every object, right after
 * the header of the map. */
static size_t find_rev(const uint8_t *body, size_t len)
{
	static const uint8_t mark[] = {0xa3, 'r', 'e', 'v', 0xcf};
	const uint8_t *at = memmem(body, len, mark, sizeof(mark));
	must(at != NULL);
	return (size_t)(at - body) + sizeof(mark);
}

int message_encode_object(
	const void *object, struct buf *out, uint64_t *ret_rev, struct schema_error *ret_error)
{
	const struct lb_key *key = object;
	size_t before = buf_len(out);
	size_t body = 0;
	must(key->kind > LB_NONE && key->kind < LB_KIND_COUNT);
	int err = message_encode_upsert(lb_schemas[key->kind], object, out, &body, ret_error);
	if (err != 0)
		return err;
	uint8_t *bytes = out->data + out->start + before + body;
	size_t len = buf_len(out) - before - body;
	uint8_t *rev_bytes = bytes + find_rev(bytes, len);
	memset(rev_bytes, 0, 8);
	uint64_t rev = digest_of(bytes, len);
	for (int i = 0; i < 8; i++)
		rev_bytes[i] = (uint8_t)(rev >> (56 - 8 * i));
	*ret_rev = rev;
	return 0;
}

// SPDX-License-Identifier: Apache-2.0
#include "common/hash.h"

#include <bsd/stdlib.h>
#include <stdbool.h>
#include <string.h>

static uint64_t rotate(uint64_t value, unsigned by)
{
	return value << by | value >> (64 - by);
}

static void mix(uint64_t v[4])
{
	v[0] += v[1];
	v[2] += v[3];
	v[1] = rotate(v[1], 13) ^ v[0];
	v[3] = rotate(v[3], 16) ^ v[2];
	v[0] = rotate(v[0], 32) + v[3];
	v[2] += v[1];
	v[1] = rotate(v[1], 17) ^ v[2];
	v[3] = rotate(v[3], 21) ^ v[0];
	v[2] = rotate(v[2], 32);
}

void hash_begin(struct hash *hash)
{
	static uint64_t key[2];
	static bool has_key;
	if (!has_key) {
		arc4random_buf(key, sizeof(key));
		has_key = true;
	}
	*hash = (struct hash){
		.v = {key[0] ^ UINT64_C(0x736f6d6570736575), key[1] ^ UINT64_C(0x646f72616e646f6d),
			key[0] ^ UINT64_C(0x6c7967656e657261),
			key[1] ^ UINT64_C(0x7465646279746573)}};
}

void hash_add_int(struct hash *hash, uint64_t number)
{
	hash->v[3] ^= number;
	mix(hash->v);
	hash->v[0] ^= number;
	hash->words++;
}

/* Preceded by its length, and padded with zeros. */
void hash_add_str(struct hash *hash, struct str text)
{
	hash_add_int(hash, text.len);
	for (size_t at = 0; at < text.len; at += sizeof(uint64_t)) {
		size_t left = text.len - at;
		uint64_t word = 0;
		memcpy(&word, text.p + at, left < sizeof(word) ? left : sizeof(word));
		hash_add_int(hash, word);
	}
}

uint64_t hash_end(struct hash *hash)
{
	hash_add_int(hash, hash->words << 59);
	hash->v[2] ^= 0xff;
	for (int i = 0; i < 3; i++)
		mix(hash->v);
	return hash->v[0] ^ hash->v[1] ^ hash->v[2] ^ hash->v[3];
}

uint64_t hash_of(struct str text)
{
	struct hash hash;
	hash_begin(&hash);
	hash_add_str(&hash, text);
	return hash_end(&hash);
}

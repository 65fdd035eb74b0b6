// SPDX-License-Identifier: Apache-2.0
/*
 * A bounded LRU cache: entries of a fixed size under 64-bit digests; the least recently used one
 * makes room. Entries begin with a struct digest_entry.
 */
#pragma once

#include "common/str.h"
#include "common/tree.h"

#include <bsd/sys/queue.h>
#include <stddef.h>
#include <stdint.h>

struct digest_entry {
	RB_ENTRY(digest_entry) by_digest;
	TAILQ_ENTRY(digest_entry) by_use;
	uint64_t digest;
};

RB_HEAD(digest_tree, digest_entry);
TAILQ_HEAD(digest_list, digest_entry);

struct digest_cache {
	struct digest_tree tree;
	struct digest_list list; /* latest used last */
	size_t count;
	size_t max;
	size_t entry_size;
};

void digest_cache_init(struct digest_cache *cache, size_t entry_size, size_t max);
void digest_cache_fini(struct digest_cache *cache);
/* The entry, created (zeroed) if need be: then *ret_is_new is true. Valid until the next call. */
void *digest_cache_get(struct digest_cache *cache, uint64_t digest, bool *ret_is_new);

/* The first eight bytes of SHA-256 over the texts, each with its length, so that lists of texts
 * that differ only in where they are split get different digests. */
uint64_t digest_of(const struct str *texts, size_t count);

// SPDX-License-Identifier: Apache-2.0
#include "watcher/digest_cache.h"

#include "common/must.h"
#include "common/xalloc.h"

#include <sha2.h>
#include <sys/types.h>

static int compare(const struct digest_entry *a, const struct digest_entry *b)
{
	return (a->digest > b->digest) - (a->digest < b->digest);
}

RB_GENERATE_LOCAL(digest_tree, digest_entry, by_digest, compare)

void digest_cache_init(struct digest_cache *cache, size_t entry_size, size_t max)
{
	must(entry_size >= sizeof(struct digest_entry) && max > 0);
	*cache = (struct digest_cache){.max = max, .entry_size = entry_size};
	RB_INIT(&cache->tree);
	TAILQ_INIT(&cache->list);
}

static void drop_oldest(struct digest_cache *cache)
{
	struct digest_entry *oldest = TAILQ_FIRST(&cache->list);
	TAILQ_REMOVE(&cache->list, oldest, by_use);
	RB_REMOVE(digest_tree, &cache->tree, oldest);
	cache->count--;
	free(oldest);
}

void digest_cache_fini(struct digest_cache *cache)
{
	while (cache->count != 0)
		drop_oldest(cache);
}

void *digest_cache_get(struct digest_cache *cache, uint64_t digest, bool *ret_is_new)
{
	struct digest_entry wanted = {.digest = digest};
	struct digest_entry *entry = RB_FIND(digest_tree, &cache->tree, &wanted);
	*ret_is_new = entry == NULL;
	if (entry != NULL) {
		TAILQ_REMOVE(&cache->list, entry, by_use);
	} else {
		if (cache->count == cache->max)
			drop_oldest(cache);
		entry = xcalloc(1, cache->entry_size);
		entry->digest = digest;
		RB_INSERT(digest_tree, &cache->tree, entry);
		cache->count++;
	}
	TAILQ_INSERT_TAIL(&cache->list, entry, by_use);
	return entry;
}

uint64_t digest_of(const struct str *texts, size_t count)
{
	uint8_t sum[SHA256_DIGEST_LENGTH];
	SHA2_CTX context;
	SHA256Init(&context);
	for (size_t i = 0; i < count; i++) {
		uint8_t head[8];
		for (int j = 0; j < 8; j++)
			head[j] = (uint8_t)((uint64_t)texts[i].len >> (56 - 8 * j));
		SHA256Update(&context, head, sizeof(head));
		if (texts[i].len != 0)
			SHA256Update(&context, (const uint8_t *)texts[i].p, texts[i].len);
	}
	SHA256Final(sum, &context);
	uint64_t digest = 0;
	for (int i = 0; i < 8; i++)
		digest = digest << 8 | sum[i];
	return digest;
}

// SPDX-License-Identifier: Apache-2.0
#include "common/shared_text.h"

#include "common/must.h"
#include "common/slab.h"
#include "common/xalloc.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { TABLE_LEN_MIN = 64 };

struct entry {
	struct entry *next; /* of the same place */
	uint32_t hash;
	uint32_t holders;
	uint32_t len;
	char text[];
};

static struct {
	struct entry **places;
	size_t len; /* a power of two; 0: none yet */
	size_t count;
	uint64_t seed;
} table;

static size_t size_of(size_t len)
{
	return offsetof(struct entry, text) + len + 1;
}

/* FNV-1a from a random start, and the halves mixed. */
static uint32_t hash_of(struct str text)
{
	uint64_t hash = table.seed;
	for (size_t i = 0; i < text.len; i++)
		hash = (hash ^ (unsigned char)text.p[i]) * UINT64_C(0x100000001b3);
	hash ^= hash >> 29;
	hash *= UINT64_C(0xbf58476d1ce4e5b9);
	return (uint32_t)(hash >> 32);
}

static struct entry **place_of(uint32_t hash)
{
	return &table.places[hash & (table.len - 1)];
}

static void resize(size_t len)
{
	struct entry **old = table.places;
	size_t old_len = table.len;
	table.places = xcalloc(len, sizeof(struct entry *));
	table.len = len;
	for (size_t i = 0; i < old_len; i++) {
		struct entry *entry;
		while ((entry = old[i]) != NULL) {
			old[i] = entry->next;
			struct entry **place = place_of(entry->hash);
			entry->next = *place;
			*place = entry;
		}
	}
	free(old);
}

static struct entry *entry_of(const char *text)
{
	return (struct entry *)(uintptr_t)(text - offsetof(struct entry, text));
}

const char *shared_text_hold(const char *text)
{
	if (text != NULL) {
		must(entry_of(text)->holders < UINT32_MAX);
		entry_of(text)->holders++;
	}
	return text;
}

const char *shared_text_get(struct str text)
{
	return text.len != 0 ? shared_text_get_any(text) : NULL;
}

const char *shared_text_get_any(struct str text)
{
	must(text.len < UINT32_MAX);
	if (table.len == 0) {
		arc4random_buf(&table.seed, sizeof(table.seed));
		resize(TABLE_LEN_MIN);
	}
	uint32_t hash = hash_of(text);
	struct entry *entry = *place_of(hash);
	for (; entry != NULL; entry = entry->next) {
		if (entry->hash == hash && entry->len == text.len &&
			(text.len == 0 || memcmp(entry->text, text.p, text.len) == 0))
			return shared_text_hold(entry->text);
	}
	if (table.count >= table.len)
		resize(2 * table.len);
	entry = slab_alloc(size_of(text.len));
	struct entry **place = place_of(hash);
	*entry = (struct entry){
		.next = *place, .hash = hash, .holders = 1, .len = (uint32_t)text.len};
	str_put(entry->text, text);
	entry->text[text.len] = '\0';
	*place = entry;
	table.count++;
	return entry->text;
}

void shared_text_drop(const char *text)
{
	if (text == NULL)
		return;
	struct entry *entry = entry_of(text);
	must(entry->holders != 0);
	if (--entry->holders != 0)
		return;
	struct entry **place = place_of(entry->hash);
	while (*place != entry)
		place = &(*place)->next;
	*place = entry->next;
	slab_free(entry, size_of(entry->len));
	if (--table.count != 0)
		return;
	free(table.places);
	table.places = NULL;
	table.len = 0;
}

struct str shared_text_view(const char *text)
{
	return text != NULL ? (struct str){text, entry_of(text)->len} : STR_NONE;
}

size_t shared_text_count(void)
{
	return table.count;
}

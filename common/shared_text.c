// SPDX-License-Identifier: Apache-2.0
#include "common/shared_text.h"

#include "common/must.h"
#include "common/slab.h"
#include "common/tree.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct entry {
	RB_ENTRY(entry) entry;
	struct str text; /* points to `bytes`, or for a lookup to any text */
	uint32_t holders;
	char bytes[];
};
RB_HEAD(entry_tree, entry);

static struct entry_tree entries = RB_INITIALIZER(&entries);
static size_t entry_count;

/* Any order will do; comparing lengths first is the cheapest. */
static int compare_entries(const struct entry *a, const struct entry *b)
{
	if (a->text.len != b->text.len)
		return a->text.len < b->text.len ? -1 : 1;
	return memcmp(a->text.p, b->text.p, a->text.len);
}

RB_GENERATE_LOCAL(entry_tree, entry, entry, compare_entries)

static size_t size_of(size_t len)
{
	return offsetof(struct entry, bytes) + len + 1;
}

static struct entry *entry_of(const char *text)
{
	return (struct entry *)(uintptr_t)(text - offsetof(struct entry, bytes));
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
	struct entry wanted = {.text = text};
	if (text.len == 0)
		return NULL;
	struct entry *entry = RB_FIND(entry_tree, &entries, &wanted);
	if (entry != NULL)
		return shared_text_hold(entry->bytes);
	entry = slab_zalloc(size_of(text.len));
	str_put(entry->bytes, text);
	entry->text = (struct str){entry->bytes, text.len};
	entry->holders = 1;
	RB_INSERT(entry_tree, &entries, entry);
	entry_count++;
	return entry->bytes;
}

void shared_text_drop(const char *text)
{
	if (text == NULL)
		return;
	struct entry *entry = entry_of(text);
	must(entry->holders != 0);
	if (--entry->holders != 0)
		return;
	RB_REMOVE(entry_tree, &entries, entry);
	slab_free(entry, size_of(entry->text.len));
	entry_count--;
}

void shared_text_set(const char **text, struct str with)
{
	const char *before = *text;
	*text = shared_text_get(with);
	shared_text_drop(before);
}

struct str shared_text_view(const char *text)
{
	return text != NULL ? entry_of(text)->text : STR_NONE;
}

size_t shared_text_count(void)
{
	return entry_count;
}

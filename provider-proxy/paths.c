// SPDX-License-Identifier: Apache-2.0
#include "provider-proxy/paths.h"

#include <stdlib.h>
#include <string.h>

static int by_lookup(const void *a_, const void *b_)
{
	const struct path_entry *a = a_;
	const struct path_entry *b = b_;
	int order = str_cmp(a->lookup, b->lookup);
	if (order == 0)
		order = a->index < b->index ? -1 : 1;
	return order;
}

/* In sorted order each path follows its prefixes, so those of the current path form a stack. */
size_t paths_drop_hidden(struct path_entry *entries, size_t count, struct arena *arena)
{
	const struct path_entry **stack = arena_calloc(arena, count + 1, sizeof(*stack));
	size_t depth = 0;
	size_t kept = 0;
	struct path_entry *result = arena_calloc(arena, count + 1, sizeof(*result));
	qsort(entries, count, sizeof(*entries), by_lookup);
	for (size_t i = 0; i < count; i++) {
		const struct path_entry *entry = &entries[i];
		while (depth != 0 && !str_starts_with(entry->lookup, stack[depth - 1]->lookup))
			depth--;
		bool is_hidden = false;
		for (size_t j = 0; !is_hidden && j < depth; j++)
			is_hidden = stack[j]->index < entry->index;
		for (size_t j = kept;
			!is_hidden && j-- > 0 && str_eq(result[j].lookup, entry->lookup);)
			is_hidden = result[j].is_exact && entry->is_exact;
		if (is_hidden)
			continue;
		result[kept++] = *entry;
		if (!entry->is_exact)
			stack[depth++] = entry;
	}
	memcpy(entries, result, kept * sizeof(*entries));
	return kept;
}

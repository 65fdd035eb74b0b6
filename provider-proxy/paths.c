// SPDX-License-Identifier: Apache-2.0
#include "provider-proxy/paths.h"

#include <stdlib.h>
#include <string.h>

/* What a request comes to whose longest key is that of a prefix. */
struct level {
	struct str lookup;
	const struct path_row *row;
};

struct making {
	struct arena *arena;
	struct path_row *rows;
	size_t row_count;
	struct level *
		stack; /* the prefixes of the current path, each of which begins with those before it */
	size_t depth;
};

static int by_lookup(const void *a_, const void *b_)
{
	const struct path_entry *a = a_;
	const struct path_entry *b = b_;
	int order = str_cmp(a->lookup, b->lookup);
	if (order == 0 && a->is_exact != b->is_exact)
		return a->is_exact ? 1 : -1;
	if (order == 0)
		order = a->index < b->index ? -1 : 1;
	return order;
}

/* Whether the rule is added, or an earlier one hides it. */
static bool add_rule(struct path_row *row, const struct path_entry *rule)
{
	if (row->count != 0 && !row->rules[row->count - 1]->has_conditions)
		return false;
	if (row->count == PATHS_RULES_MAX) {
		row->cut = row->cut != NULL ? row->cut : rule;
		return false;
	}
	row->rules[row->count++] = rule;
	return true;
}

static size_t shorter_of(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Merges the rules of one key with those of the prefix above it. Whether any of the former is among them: otherwise the prefix does the same. */
static bool merge(struct making *making, const struct path_entry *own, size_t own_count,
	const struct path_row *above, struct path_row *row)
{
	size_t above_count = above != NULL ? above->count : 0;
	size_t room = shorter_of(own_count + above_count, PATHS_RULES_MAX);
	bool any = false;
	*row = (struct path_row){.entry = own};
	row->rules = arena_calloc(making->arena, room, sizeof(struct path_entry *));
	for (size_t i = 0, k = 0; i < own_count || k < above_count;) {
		bool is_own = k == above_count ||
			      (i < own_count && own[i].index < above->rules[k]->index);
		if (is_own)
			any = add_rule(row, &own[i++]) || any;
		else
			(void)add_rule(row, above->rules[k++]);
	}
	if (row->cut == NULL && above != NULL && row->count == PATHS_RULES_MAX)
		row->cut = above->cut;
	return any || row->cut != NULL;
}

static const struct path_row *above_of(struct making *making, struct str lookup)
{
	while (making->depth != 0 &&
		!str_starts_with(lookup, making->stack[making->depth - 1].lookup))
		making->depth--;
	return making->depth != 0 ? making->stack[making->depth - 1].row : NULL;
}

/* `count` entries of one key. */
static void add_key(struct making *making, const struct path_entry *entries, size_t count)
{
	const struct path_row *above = above_of(making, entries->lookup);
	struct path_row *row = &making->rows[making->row_count];
	if (!merge(making, entries, count, above, row))
		return;
	making->row_count++;
	if (!entries->is_exact)
		making->stack[making->depth++] = (struct level){entries->lookup, row};
}

size_t paths_to_rows(
	struct path_entry *entries, size_t count, struct arena *arena, struct path_row **ret_rows)
{
	struct making making = {.arena = arena};
	making.rows = arena_calloc(arena, count + 1, sizeof(*making.rows));
	making.stack = arena_calloc(arena, count + 1, sizeof(*making.stack));
	if (count > 1)
		qsort(entries, count, sizeof(*entries), by_lookup);
	for (size_t from = 0, to; from < count; from = to) {
		for (to = from + 1; to < count && entries[to].is_exact == entries[from].is_exact &&
				    str_eq(entries[to].lookup, entries[from].lookup);)
			to++;
		add_key(&making, &entries[from], to - from);
	}
	*ret_rows = making.rows;
	return making.row_count;
}

struct str paths_encode(struct str path, struct arena *arena)
{
	static const char digits[] = "0123456789ABCDEF";
	char *text = arena_alloc(arena, 3 * path.len + 1);
	size_t len = 0;
	for (size_t i = 0; i < path.len; i++) {
		uint8_t c = (uint8_t)path.p[i];
		bool is_kept = c > 0x20 && c != 0x7f && c != '%';
		text[len++] = is_kept ? path.p[i] : '%';
		if (is_kept)
			continue;
		text[len++] = digits[c >> 4];
		text[len++] = digits[c & 15];
	}
	return (struct str){text, len};
}

// SPDX-License-Identifier: Apache-2.0
#include "provider-proxy/row_set.h"

#include "common/xalloc.h"

#include <stdlib.h>

enum { SEARCHED_ONE_BY_ONE = 8 };

void row_draft_add(struct row_draft *draft, enum row_table table, struct str key, struct str value)
{
	struct row_text *text =
		arena_push(draft->arena, (void **)&draft->items, &draft->count, sizeof(*text));
	*text = (struct row_text){table, key, value};
}

static int by_table_and_key(const void *a_, const void *b_)
{
	const struct row_text *a = a_;
	const struct row_text *b = b_;
	if (a->table != b->table)
		return a->table < b->table ? -1 : 1;
	return str_cmp(a->key, b->key);
}

/* Sorts the draft, and leaves out what occurs twice. */
static void tidy(struct row_draft *draft)
{
	size_t count = 0;
	if (draft->count > 1)
		qsort(draft->items, draft->count, sizeof(*draft->items), by_table_and_key);
	for (size_t i = 0; i < draft->count; i++) {
		if (count == 0 || by_table_and_key(&draft->items[count - 1], &draft->items[i]) != 0)
			draft->items[count++] = draft->items[i];
	}
	draft->count = count;
}

static bool contains(const struct row_draft *draft, const struct row *row)
{
	struct row_text wanted = {.table = row_table(row), .key = row_key(row)};
	if (draft->count >= SEARCHED_ONE_BY_ONE)
		return bsearch(&wanted, draft->items, draft->count, sizeof(wanted),
			       by_table_and_key) != NULL;
	for (size_t i = 0; i < draft->count; i++) {
		if (by_table_and_key(&wanted, &draft->items[i]) == 0)
			return true;
	}
	return false;
}

void row_set_replace(struct row_set *set, struct rows *rows, struct row_draft *draft)
{
	tidy(draft);
	struct row **new = draft->count != 0 ? xcalloc(draft->count, sizeof(struct row *)) : NULL;
	for (size_t i = 0; i < draft->count; i++) {
		const struct row_text *text = &draft->items[i];
		rows_want(rows, text->table, text->key, text->value);
		new[i] = rows_find(rows, text->table, text->key);
	}
	for (size_t i = 0; i < set->count; i++) {
		struct row *old = set->rows[i];
		if (!contains(draft, old))
			rows_want(rows, row_table(old), row_key(old), STR_NONE);
	}
	free(set->rows);
	*set = (struct row_set){new, draft->count};
}

void row_set_fini(struct row_set *set)
{
	free(set->rows);
	*set = (struct row_set){0};
}

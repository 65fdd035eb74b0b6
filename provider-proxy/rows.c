// SPDX-License-Identifier: Apache-2.0
#include "provider-proxy/rows.h"

#include "common/hash.h"
#include "common/must.h"
#include "common/tree.h"
#include "common/xalloc.h"

#include <bsd/sys/queue.h>

struct row {
	RB_ENTRY(row) node;
	TAILQ_ENTRY(row) dirty;
	char *wanted; /* NULL: the row must not exist */
	char *has;
	uint64_t place; /* see rowfile.h */
	uint64_t filed; /* digest of the value in the file; 0: it has no such row */
	uint64_t turn;  /* of rows_release() in which it began to stay */
	bool is_dirty;
	bool is_staying; /* in that list instead */
	bool is_released;
	uint8_t table;
	uint32_t key_len;
	char key[];
};

RB_HEAD(row_tree, row);
TAILQ_HEAD(row_list, row);

struct rows {
	struct row_tree tree[ROW_TABLE_COUNT];
	struct row_list dirty[ROW_TABLE_COUNT];
	struct row_list staying;
	bool (*stays)(enum row_table table, struct str key);
	uint64_t turn;
	size_t dirty_count;
	uint64_t change_count;
	bool is_filed[ROW_TABLE_COUNT];
};

struct str row_key(const struct row *row)
{
	return (struct str){row->key, row->key_len};
}

static int compare_rows(const struct row *a, const struct row *b)
{
	return str_cmp(row_key(a), row_key(b));
}

RB_GENERATE_LOCAL(row_tree, row, node, compare_rows)

struct row *rows_find(struct rows *rows, enum row_table table, struct str key)
{
	struct row *at = RB_ROOT(&rows->tree[table]);
	while (at != NULL) {
		int order = str_cmp(key, row_key(at));
		if (order == 0)
			return at;
		at = order < 0 ? RB_LEFT(at, node) : RB_RIGHT(at, node);
	}
	return NULL;
}

static struct row *find_or_add(struct rows *rows, enum row_table table, struct str key)
{
	struct row *row = rows_find(rows, table, key);
	if (row != NULL)
		return row;
	must(key.len != 0 && key.len <= UINT32_MAX);
	row = xcalloc(1, sizeof(*row) + key.len);
	row->table = (uint8_t)table;
	row->key_len = (uint32_t)key.len;
	str_put(row->key, key);
	RB_INSERT(row_tree, &rows->tree[table], row);
	return row;
}

static bool are_equal(const char *a, const char *b)
{
	return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static char *copy(struct str value)
{
	return value.p != NULL ? str_dup(value) : NULL;
}

static uint64_t digest_of_wanted(const struct row *row)
{
	return row->wanted != NULL ? hash_of(str_from(row->wanted)) : 0;
}

static bool has_to_stay(struct rows *rows, const struct row *row)
{
	return row->wanted == NULL && row->has != NULL && !row->is_released &&
	       rows->stays != NULL && rows->stays((enum row_table)row->table, row_key(row));
}

static bool settle_staying(struct rows *rows, struct row *row)
{
	bool stays = has_to_stay(rows, row);
	if (stays && !row->is_staying) {
		/* It has one place in lists. */
		if (row->is_dirty) {
			TAILQ_REMOVE(&rows->dirty[row->table], row, dirty);
			rows->dirty_count--;
			row->is_dirty = false;
		}
		TAILQ_INSERT_TAIL(&rows->staying, row, dirty);
		row->turn = rows->turn;
	} else if (!stays && row->is_staying) {
		TAILQ_REMOVE(&rows->staying, row, dirty);
	}
	row->is_staying = stays;
	row->is_released = row->is_released && row->wanted == NULL;
	return stays;
}

/* Adds the row to the dirty list or removes it, and frees it once no side has it. */
static void settle(struct rows *rows, struct row *row)
{
	if (settle_staying(rows, row))
		return;
	bool differs = !are_equal(row->wanted, row->has) ||
		       (rows->is_filed[row->table] && !row_is_filed(row));
	if (differs && !row->is_dirty) {
		TAILQ_INSERT_TAIL(&rows->dirty[row->table], row, dirty);
		rows->dirty_count++;
	} else if (!differs && row->is_dirty) {
		TAILQ_REMOVE(&rows->dirty[row->table], row, dirty);
		rows->dirty_count--;
	}
	row->is_dirty = differs;
	if (differs || row->wanted != NULL)
		return;
	RB_REMOVE(row_tree, &rows->tree[row->table], row);
	free(row);
}

/* No value differs from an empty one. */
static bool is_same(struct str a, struct str b)
{
	return a.p == NULL || b.p == NULL ? a.p == b.p : str_eq(a, b);
}

void rows_want(struct rows *rows, enum row_table table, struct str key, struct str value)
{
	struct row *row =
		value.p != NULL ? find_or_add(rows, table, key) : rows_find(rows, table, key);
	if (row == NULL || is_same(row_wanted(row), value))
		return;
	free(row->wanted);
	row->wanted = copy(value);
	rows->change_count++;
	settle(rows, row);
}

void rows_set_stays(struct rows *rows, bool (*stays)(enum row_table table, struct str key))
{
	rows->stays = stays;
}

bool rows_release(struct rows *rows)
{
	struct row *row;
	while ((row = TAILQ_FIRST(&rows->staying)) != NULL && row->turn < rows->turn) {
		row->is_released = true;
		settle(rows, row);
	}
	rows->turn++;
	return !TAILQ_EMPTY(&rows->staying);
}

bool rows_any_stays(const struct rows *rows)
{
	return !TAILQ_EMPTY(&rows->staying);
}

struct str rows_wanted(const struct rows *rows, enum row_table table, struct str key)
{
	const struct row *row = rows_find((struct rows *)(uintptr_t)rows, table, key);
	return row != NULL ? row_wanted(row) : STR_NONE;
}

struct row *rows_first_dirty(struct rows *rows, enum row_table table)
{
	return TAILQ_FIRST(&rows->dirty[table]);
}

void rows_defer(struct rows *rows, struct row *row)
{
	must(row->is_dirty);
	TAILQ_REMOVE(&rows->dirty[row->table], row, dirty);
	TAILQ_INSERT_TAIL(&rows->dirty[row->table], row, dirty);
}

size_t rows_dirty_count(const struct rows *rows)
{
	return rows->dirty_count;
}

uint64_t rows_change_count(const struct rows *rows)
{
	return rows->change_count;
}

void rows_has(struct rows *rows, struct row *row, struct str value)
{
	char *old = row->has;
	row->has = copy(value);
	free(old);
	settle(rows, row);
}

void rows_found(struct rows *rows, enum row_table table, struct str key, struct str value)
{
	rows_has(rows, find_or_add(rows, table, key), value);
}

void rows_forget_has(struct rows *rows)
{
	for (int table = 0; table < ROW_TABLE_COUNT; table++) {
		struct row *row;
		struct row *next;
		RB_FOREACH_SAFE (row, row_tree, &rows->tree[table], next)
			rows_has(rows, row, STR_NONE);
	}
}

struct row *rows_first(struct rows *rows, enum row_table table)
{
	return RB_MIN(row_tree, &rows->tree[table]);
}

struct row *rows_next(struct row *row)
{
	return row_tree_RB_NEXT(row);
}

struct str row_wanted(const struct row *row)
{
	return str_from(row->wanted);
}

struct str row_has(const struct row *row)
{
	return str_from(row->has);
}

enum row_table row_table(const struct row *row)
{
	return (enum row_table)row->table;
}

uint64_t row_place(const struct row *row)
{
	return row->place;
}

bool row_is_filed(const struct row *row)
{
	return (row->place != 0) == (row->wanted != NULL) && row->filed == digest_of_wanted(row);
}

void row_set_filed(struct row *row, uint64_t place)
{
	row->place = place;
	row->filed = digest_of_wanted(row);
}

void rows_set_filed(struct rows *rows, enum row_table table, bool is_filed)
{
	rows->is_filed[table] = is_filed;
}

struct rows *rows_new(void)
{
	struct rows *rows = xcalloc(1, sizeof(*rows));
	TAILQ_INIT(&rows->staying);
	for (int table = 0; table < ROW_TABLE_COUNT; table++) {
		RB_INIT(&rows->tree[table]);
		TAILQ_INIT(&rows->dirty[table]);
	}
	return rows;
}

void rows_free(struct rows *rows)
{
	if (rows == NULL)
		return;
	for (int table = 0; table < ROW_TABLE_COUNT; table++) {
		struct row *row;
		struct row *next;
		RB_FOREACH_SAFE (row, row_tree, &rows->tree[table], next) {
			RB_REMOVE(row_tree, &rows->tree[table], row);
			free(row->wanted);
			free(row->has);
			free(row);
		}
	}
	free(rows);
}

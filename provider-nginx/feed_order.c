// SPDX-License-Identifier: Apache-2.0
#include "provider-nginx/feed_order.h"

/* One step of the order: rows of one table whose keys start with certain prefixes, or do not. */
struct step {
	char table; /* as in a batch */
	bool is_set;
	const char *prefixes[3];
	bool is_inverse; /* keys must start with none of them */
};

static const struct step steps[] = {
	{FEED_OBJECT, true, {"cert:", "client:"}, false},
	{FEED_OBJECT, true, {"pool:"}, false},
	{FEED_OBJECT, true, {"pool:", "cert:", "client:"}, true},
	{FEED_WHOLE, true, {"route:", "policy:"}, false},
	{FEED_PREFIX, true, {NULL, NULL}, true},
	{FEED_WHOLE, true, {"host:", "route:", "policy:"}, true},
	{FEED_WHOLE, true, {"host:", NULL}, false},
	{FEED_WHOLE, false, {"host:", NULL}, false},
	{FEED_WHOLE, false, {"host:", "route:", "policy:"}, true},
	{FEED_PREFIX, false, {NULL, NULL}, true},
	{FEED_WHOLE, false, {"route:", "policy:"}, false},
	{FEED_OBJECT, false, {"pool:", "cert:", "client:"}, true},
	{FEED_OBJECT, false, {"pool:"}, false},
	{FEED_OBJECT, false, {"cert:", "client:"}, false},
};

enum { STEP_COUNT = sizeof(steps) / sizeof(steps[0]) };

static bool is_of(const struct step *step, const struct row *row)
{
	bool begins = false;
	for (int i = 0; i < 3 && step->prefixes[i] != NULL; i++)
		begins = begins || str_starts_with(row_key(row), str_from(step->prefixes[i]));
	return (row_wanted(row).p != NULL) == step->is_set && begins != step->is_inverse;
}

static struct rows *rows_of(const struct feed_order *order, char table, enum row_table *ret_table)
{
	*ret_table = table == FEED_PREFIX ? ROW_PREFIX : ROW_WHOLE;
	return table == FEED_OBJECT ? objects_rows(order->objects) : order->routes;
}

enum adding { ADDED, NO_ROOM, REFUSED };

static enum adding add(
	const struct feed_order *order, char table, const struct row *row, struct buf *batch)
{
	char key[BATCH_KEY_LEN_MAX];
	struct str name = row_key(row);
	struct str value = row_wanted(row);
	if (name.len >= sizeof(key))
		return REFUSED;
	key[0] = table;
	str_put(key + 1, name);
	if (table == FEED_OBJECT && value.p != NULL) {
		buf_clear(order->scratch);
		if (objects_value(order->objects, order->state, row, order->scratch) != 0)
			return REFUSED;
		value = buf_str(order->scratch);
	}
	if (batch_add(batch, (struct str){key, name.len + 1}, value) == 0)
		return ADDED;
	return batch_is_empty(batch) ? REFUSED : NO_ROOM;
}

/* False: the batch is full. */
static bool fill_step(
	const struct feed_order *order, const struct step *step, struct buf *batch, size_t *refused)
{
	enum row_table table;
	struct rows *rows = rows_of(order, step->table, &table);
	struct row *first = NULL;
	struct row *row;
	/* Deferring rotates the list; back at the first row, all have been visited. */
	while ((row = rows_first_dirty(rows, table)) != NULL && row != first) {
		if (first == NULL)
			first = row;
		rows_defer(rows, row);
		if (!is_of(step, row))
			continue;
		if (batch_is_full(batch))
			return false;
		enum adding adding = add(order, step->table, row, batch);
		if (adding == NO_ROOM)
			return false;
		if (adding == REFUSED) {
			(*refused)++;
			if (row == first)
				first = NULL;
			rows_has(rows, row, row_wanted(row));
		}
	}
	return true;
}

void feed_order_fill(const struct feed_order *order, struct buf *batch, size_t *ret_refused)
{
	*ret_refused = 0;
	for (size_t i = 0; i < STEP_COUNT; i++) {
		if (order->keeps && !steps[i].is_set)
			continue;
		if (!fill_step(order, &steps[i], batch, ret_refused))
			return;
	}
}

bool feed_order_fill_whole(
	const struct feed_order *order, struct buf *batch, struct row **position, unsigned *stage)
{
	static const char tables[] = {FEED_OBJECT, FEED_PREFIX, FEED_WHOLE};
	for (; *stage < sizeof(tables); (*stage)++) {
		enum row_table table;
		struct rows *rows = rows_of(order, tables[*stage], &table);
		struct row *row = *position != NULL ? *position : rows_first(rows, table);
		for (; row != NULL; row = rows_next(row)) {
			*position = row;
			if (row_wanted(row).p == NULL)
				continue;
			if (batch_is_full(batch))
				return true;
			if (add(order, tables[*stage], row, batch) == NO_ROOM)
				return true;
		}
		*position = NULL;
	}
	return !batch_is_empty(batch);
}

void feed_order_found(const struct feed_order *order, const struct batch_row *row)
{
	char text[PAIR_DIGEST_LEN];
	enum row_table table;
	char prefix = row->key.p[0];
	struct str key = str_skip(row->key, 1);
	if (key.len == 0 ||
		(prefix != FEED_OBJECT && prefix != FEED_WHOLE && prefix != FEED_PREFIX))
		return;
	struct rows *rows = rows_of(order, prefix, &table);
	struct str value = row->value;
	if (prefix == FEED_OBJECT)
		value = objects_row_value(key, value, text);
	/* The deletion of an unknown row leaves nothing to record. */
	if (value.p != NULL || rows_find(rows, table, key) != NULL)
		rows_found(rows, table, key, value);
}

void feed_order_settle(const struct feed_order *order, struct str rows)
{
	struct batch_row row;
	while (batch_next(&rows, &row))
		feed_order_found(order, &row);
}

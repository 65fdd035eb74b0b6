// SPDX-License-Identifier: Apache-2.0
#include "sluicectl/table.h"

#include "common/json.h"
#include "common/must.h"
#include "common/xalloc.h"
#include "sluicectl/ask.h"

#include <stdlib.h>
#include <string.h>

struct cell {
	size_t at; /* in the texts */
	size_t len;
	size_t width;
};

struct table {
	size_t columns;
	struct buf texts; /* of the cells, one after the other */
	size_t begun;     /* where the current cell begins in `texts` */
	struct cell *cells;
	size_t count;
	double rank;   /* of the current row */
	double *ranks; /* of the rows */
	size_t *rows;  /* those that are printed; NULL: all */
	size_t row_count;
	size_t matches;
};

struct table *table_new(size_t columns)
{
	struct table *table = xcalloc(1, sizeof(*table));
	table->columns = columns;
	buf_init(&table->texts, ASK_LEN_MAX);
	(void)buf_reserve(&table->texts, ASK_ROOM_LEN);
	return table;
}

void table_free(struct table *table)
{
	buf_fini(&table->texts);
	free(table->cells);
	free(table->ranks);
	free(table->rows);
	free(table);
}

void table_put(struct table *table, struct str text)
{
	must(buf_append_str(&table->texts, text) == 0);
}

void table_put_uint(struct table *table, uint64_t value)
{
	must(buf_append_uint(&table->texts, value) == 0);
}

/* Keeps a line a line, whatever a name contains. */
static size_t replace_control_bytes(uint8_t *bytes, size_t len)
{
	size_t width = 0;
	for (size_t i = 0; i < len; i++) {
		if (bytes[i] < 0x20 || bytes[i] == 0x7f)
			bytes[i] = '?';
		width += (bytes[i] & 0xc0) != 0x80;
	}
	return width;
}

void table_end(struct table *table)
{
	if (buf_len(&table->texts) == table->begun)
		table_put(table, STR("-"));
	size_t len = buf_len(&table->texts) - table->begun;
	if ((table->count & (table->count - 1)) == 0) {
		size_t room = table->count != 0 ? 2 * table->count : 1;
		table->cells = xreallocarray(table->cells, room, sizeof(*table->cells));
		table->ranks = xreallocarray(table->ranks, room, sizeof(*table->ranks));
	}
	table->ranks[table->count / table->columns] = table->rank;
	table->cells[table->count++] = (struct cell){
		.at = table->begun,
		.len = len,
		.width = replace_control_bytes(
			table->texts.data + table->texts.start + table->begun, len),
	};
	table->begun += len;
}

void table_add(struct table *table, struct str text)
{
	table_put(table, text);
	table_end(table);
}

/* The beginning of the text up to that width. */
static struct str cut_text(struct str text, size_t width)
{
	size_t len = 0;
	while (len < text.len && (width != 0 || ((unsigned char)text.p[len] & 0xc0) == 0x80))
		width -= ((unsigned char)text.p[len++] & 0xc0) != 0x80;
	return (struct str){text.p, len};
}

/* Prints as much of a row as fits; a cut is marked. */
static void print_row(FILE *out, struct str row, size_t row_width, size_t width)
{
	static const char mark[] = "…";
	bool is_cut = width != 0 && row_width > width;
	if (is_cut)
		row = cut_text(row, width - 1);
	fwrite_unlocked(row.p, 1, row.len, out);
	if (is_cut)
		fwrite_unlocked(mark, 1, sizeof(mark) - 1, out);
	putc_unlocked('\n', out);
}

/* Appends the cell and its gap; returns their width. */
static size_t put_cell(struct buf *row, const char *text, const struct cell *cell, size_t pad)
{
	uint8_t *room = buf_reserve(row, cell->len + pad);
	must(room != NULL);
	memcpy(room, text, cell->len);
	memset(room + cell->len, ' ', pad);
	buf_commit(row, cell->len + pad);
	return cell->width + pad;
}

/* ---- choosing ---- */

void table_rank(struct table *table, double rank)
{
	table->rank = rank;
}

static struct str cell_text(const struct table *table, size_t row, size_t column)
{
	const struct cell *cell = &table->cells[row * table->columns + column];
	return (struct str){buf_str(&table->texts).p + cell->at, cell->len};
}

bool table_has_text(struct str text, const char *wanted)
{
	size_t len = strlen(wanted);
	for (size_t i = 0; i + len <= text.len; i++) {
		if (strncasecmp(text.p + i, wanted, len) == 0)
			return true;
	}
	return false;
}

static bool is_match(const struct table *table, size_t row, const char *wanted)
{
	for (size_t i = 0; i < table->columns; i++) {
		if (table_has_text(cell_text(table, row, i), wanted))
			return true;
	}
	return false;
}

static int by_rank(const void *a, const void *b, void *ctx)
{
	const double *ranks = ctx;
	size_t one = *(const size_t *)a;
	size_t other = *(const size_t *)b;
	if (ranks[one] != ranks[other])
		return ranks[one] < ranks[other] ? -1 : 1;
	return one < other ? -1 : 1;
}

void table_choose(struct table *table, const struct table_choice *choice)
{
	size_t count = table->count / table->columns;
	size_t *rows = xcalloc(count + 1, sizeof(*rows));
	size_t matches = 0;
	for (size_t row = 1; row < count; row++) {
		if (choice->match == NULL || is_match(table, row, choice->match))
			rows[matches++] = row;
	}
	if (choice->by_rank && matches > 1)
		qsort_r(rows, matches, sizeof(*rows), by_rank, table->ranks);
	size_t skip = choice->skip < matches ? choice->skip : matches;
	size_t left = matches - skip;
	table->row_count = choice->limit < left ? choice->limit : left;
	memmove(rows + 1, rows + skip, table->row_count * sizeof(*rows));
	rows[0] = 0;
	table->row_count += count != 0;
	table->matches = matches;
	free(table->rows);
	table->rows = rows;
}

static size_t row_count(const struct table *table)
{
	return table->rows != NULL ? table->row_count : table->count / table->columns;
}

static size_t row_at(const struct table *table, size_t at)
{
	return table->rows != NULL ? table->rows[at] : at;
}

/* ---- printing ---- */

static size_t *measure(const struct table *table)
{
	size_t *widths = xcalloc(table->columns, sizeof(*widths));
	for (size_t i = 0; i < row_count(table); i++) {
		const struct cell *cells = &table->cells[row_at(table, i) * table->columns];
		for (size_t k = 0; k < table->columns; k++)
			widths[k] = cells[k].width > widths[k] ? cells[k].width : widths[k];
	}
	return widths;
}

void table_print(const struct table *table, FILE *out, size_t width)
{
	enum { GAP = 3 };
	size_t *widths = measure(table);
	const char *texts = buf_str(&table->texts).p;
	struct buf row;
	buf_init(&row, ASK_LEN_MAX);
	for (size_t i = 0; i < row_count(table); i++) {
		const struct cell *cells = &table->cells[row_at(table, i) * table->columns];
		size_t row_width = 0;
		for (size_t k = 0; k < table->columns; k++) {
			bool is_last = k + 1 == table->columns;
			size_t pad = is_last ? 0 : widths[k] - cells[k].width + GAP;
			row_width += put_cell(&row, texts + cells[k].at, &cells[k], pad);
		}
		print_row(out, buf_str(&row), row_width, width);
		buf_clear(&row);
	}
	buf_fini(&row);
	free(widths);
}

static int put_row_json(const struct table *table, size_t row, struct buf *out)
{
	int err = 0;
	for (size_t i = 0; i < table->columns && err == 0; i++) {
		err = buf_append(out, i == 0 ? "[" : ",", 1);
		if (err == 0)
			err = json_put_text(out, cell_text(table, row, i));
	}
	return err == 0 ? buf_append(out, "]", 1) : err;
}

int table_put_json(const struct table *table, struct buf *out)
{
	size_t count = row_count(table);
	must(count != 0);
	int err = buf_append_str(out, STR("{\"columns\":"));
	if (err == 0)
		err = put_row_json(table, row_at(table, 0), out);
	if (err == 0)
		err = buf_printf(out, ",\"matches\":%zu,\"rows\":[",
			table->rows != NULL ? table->matches : count - 1);
	for (size_t i = 1; i < count && err == 0; i++) {
		err = i > 1 ? buf_append(out, ",", 1) : 0;
		if (err == 0)
			err = put_row_json(table, row_at(table, i), out);
	}
	return err == 0 ? buf_append_str(out, STR("]}")) : err;
}

// SPDX-License-Identifier: Apache-2.0
#include "sluicectl/live.h"

#include "common/clock.h"
#include "common/must.h"
#include "common/xalloc.h"
#include "sluicectl/commands.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

static const double timeout_default_s = 5;
static const double timeout_max_s = 3600;

bool live_open(const struct args *args, struct ask *ret_ask)
{
	const char *from_environment = getenv("SLUICE_RUNTIME_DIR");
	char *end = NULL;
	*ret_ask = (struct ask){
		.runtime_dir = args->runtime_dir != NULL  ? args->runtime_dir
			       : from_environment != NULL ? from_environment
							  : "/run/sluice",
		.timeout_s = timeout_default_s,
	};
	if (args->timeout == NULL)
		return true;
	ret_ask->timeout_s = strtod(args->timeout, &end);
	if (*end == '\0' && ret_ask->timeout_s > 0 && ret_ask->timeout_s <= timeout_max_s)
		return true;
	fputs("sluicectl: --timeout must be seconds, more than 0 and at most 3600\n", stderr);
	return false;
}

int live_complain(enum ask_outcome outcome, char *problem)
{
	command_complain(problem);
	return outcome == ASK_NOT_FOUND ? CTL_EXIT_NOT_FOUND : CTL_EXIT_AWAY;
}

int live_fetch(const struct ask *question, const char *type, const char *query, struct buf *out)
{
	char *problem = NULL;
	char *target = xasprintf("/objects/%s%s", type, query);
	enum ask_outcome outcome = ask(question, "translator", target, out, &problem);
	free(target);
	return outcome == ASK_GOOD ? CTL_EXIT_GOOD : live_complain(outcome, problem);
}

enum output_form live_form(const struct args *args)
{
	static const char *const words[] = {"table", "wide", "json", "yaml"};
	for (size_t i = 0; args->output != NULL && i < 4; i++) {
		if (strcmp(args->output, words[i]) == 0)
			return (enum output_form)i;
	}
	return FORM_TABLE;
}

/* In the most readable unit, which is given by its letter. */
static uint64_t age_since(uint64_t since, char *ret_unit)
{
	static const struct {
		uint64_t seconds;
		char letter;
	} units[] = {{24UL * 60 * 60, 'd'}, {60UL * 60, 'h'}, {60, 'm'}, {1, 's'}};
	uint64_t now = (uint64_t)clock_wall_s();
	uint64_t age = now > since ? now - since : 0;
	size_t i = 0;
	/* 90s says more than 1m: below two of a unit the next smaller one is used. */
	while (i < 3 && age < 2 * units[i].seconds)
		i++;
	*ret_unit = units[i].letter;
	return age / units[i].seconds;
}

const char *live_age(uint64_t since, char room[32])
{
	char unit;
	if (since == 0)
		return "-";
	uint64_t age = age_since(since, &unit);
	snprintf(room, 32, "%llu%c", (unsigned long long)age, unit);
	return room;
}

/* ---- tables ---- */

struct cell {
	size_t len;
	size_t width;
};

struct table {
	size_t columns;
	struct buf texts; /* of the cells, one after the other */
	size_t begun;     /* where the current cell begins in `texts` */
	struct cell *cells;
	size_t count;
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
	if ((table->count & (table->count - 1)) == 0)
		table->cells = xreallocarray(table->cells, table->count != 0 ? 2 * table->count : 1,
			sizeof(*table->cells));
	table->cells[table->count++] = (struct cell){
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

void table_add_age(struct table *table, uint64_t since)
{
	char unit;
	if (since != 0) {
		table_put_uint(table, age_since(since, &unit));
		table_put(table, (struct str){&unit, 1});
	}
	table_end(table);
}

void table_print(const struct table *table, FILE *out, size_t width)
{
	enum { GAP = 3 };
	size_t *widths = xcalloc(table->columns, sizeof(*widths));
	const char *text = buf_str(&table->texts).p;
	struct buf row;
	size_t row_width = 0;
	buf_init(&row, ASK_LEN_MAX);
	for (size_t i = 0; i < table->count; i++) {
		size_t *most = &widths[i % table->columns];
		*most = table->cells[i].width > *most ? table->cells[i].width : *most;
	}
	for (size_t i = 0; i < table->count; i++) {
		const struct cell *cell = &table->cells[i];
		bool is_last = (i + 1) % table->columns == 0;
		size_t pad = is_last ? 0 : widths[i % table->columns] - cell->width + GAP;
		row_width += put_cell(&row, text, cell, pad);
		text += cell->len;
		if (!is_last)
			continue;
		print_row(out, buf_str(&row), row_width, width);
		buf_clear(&row);
		row_width = 0;
	}
	buf_fini(&row);
	free(widths);
}

size_t live_width(void)
{
	struct winsize size;
	return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

// SPDX-License-Identifier: Apache-2.0
#include "sluicectl/live.h"

#include "common/xalloc.h"
#include "sluicectl/commands.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

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

const char *live_age(uint64_t since, char room[32])
{
	static const struct {
		unsigned long seconds;
		char unit;
	} units[] = {{24UL * 60 * 60, 'd'}, {60UL * 60, 'h'}, {60, 'm'}, {1, 's'}};
	uint64_t now = (uint64_t)time(NULL);
	unsigned long age = now > since ? (unsigned long)(now - since) : 0;
	size_t i = 0;
	if (since == 0)
		return "-";
	/* Two of the smaller ones say more than one of the greater. */
	while (i < 3 && age < 2 * units[i].seconds)
		i++;
	snprintf(room, 32, "%lu%c", age / units[i].seconds, units[i].unit);
	return room;
}

/* ---- tables ---- */

struct table {
	size_t columns;
	char **cells;
	size_t count;
};

struct table *table_new(size_t columns)
{
	struct table *table = xcalloc(1, sizeof(*table));
	table->columns = columns;
	return table;
}

void table_free(struct table *table)
{
	for (size_t i = 0; i < table->count; i++)
		free(table->cells[i]);
	free(table->cells);
	free(table);
}

void table_add(struct table *table, struct str text)
{
	/* Whatever somebody wrote into a name, a line stays a line. */
	char *cell = str_dup_utf8(text.len != 0 ? text : STR("-"));
	for (char *at = cell; *at != '\0'; at++) {
		if ((unsigned char)*at < 0x20 || *at == 0x7f)
			*at = '?';
	}
	if ((table->count & (table->count - 1)) == 0)
		table->cells = xreallocarray(table->cells, table->count != 0 ? 2 * table->count : 1,
			sizeof(*table->cells));
	table->cells[table->count++] = cell;
}

static size_t width_of(const char *text)
{
	size_t width = 0;
	for (; *text != '\0'; text++)
		width += ((unsigned char)*text & 0xc0) != 0x80;
	return width;
}

void table_print(const struct table *table, FILE *out)
{
	size_t *widths = xcalloc(table->columns, sizeof(*widths));
	for (size_t i = 0; i < table->count; i++) {
		size_t width = width_of(table->cells[i]);
		size_t *most = &widths[i % table->columns];
		*most = width > *most ? width : *most;
	}
	for (size_t i = 0; i < table->count; i++) {
		bool is_last = (i + 1) % table->columns == 0;
		int pad = (int)(widths[i % table->columns] - width_of(table->cells[i])) + 3;
		fprintf(out, "%s%*s", table->cells[i], is_last ? 0 : pad, "");
		if (is_last)
			fputc('\n', out);
	}
	free(widths);
}

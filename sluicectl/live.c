// SPDX-License-Identifier: Apache-2.0
#include "sluicectl/live.h"

#include "common/clock.h"
#include "common/must.h"
#include "common/xalloc.h"
#include "proto/inspection.h"
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

static bool read_number(const char *text, size_t *ret_number)
{
	int64_t number = 0;
	if (text == NULL)
		return true;
	if (!str_to_int(str_from(text), 0, INT32_MAX, &number))
		return false;
	*ret_number = (size_t)number;
	return true;
}

bool live_read_part(const struct args *args, size_t *ret_skip, size_t *ret_limit)
{
	if (read_number(args->skip, ret_skip) && read_number(args->limit, ret_limit))
		return true;
	fputs("sluicectl: --skip and --limit must be numbers\n", stderr);
	return false;
}

enum ask_outcome live_explain(const struct ask *question, const char *target, struct buf *body,
	struct arena *arena, struct inspection_explanation *ret_explanation, char **ret_problem)
{
	struct schema_error error = {""};
	enum ask_outcome outcome = ask(question, "translator", target, body, ret_problem);
	if (outcome != ASK_GOOD || inspection_decode(&inspection_explanation_schema, buf_str(body),
					   arena, ret_explanation, &error) == 0)
		return outcome;
	*ret_problem = xasprintf("the translator's answer: %s", error.text);
	return ASK_BAD;
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

void live_add_age(struct table *table, uint64_t since)
{
	char unit;
	if (since != 0) {
		table_put_uint(table, age_since(since, &unit));
		table_put(table, (struct str){&unit, 1});
	}
	table_end(table);
}

size_t live_width(void)
{
	struct winsize size;
	return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

// SPDX-License-Identifier: Apache-2.0
/* The command line, from the one table of commands.def. No I/O but printing. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum {
#define EXIT_CODE(id, number, meaning) CTL_EXIT_##id = (number),
#include "sluicectl/exits.def"
#undef EXIT_CODE
};

enum command {
#define COMMAND(id, name, arguments, summary, description) COMMAND_##id,
#include "sluicectl/commands.def"
#undef COMMAND
	COMMAND_COUNT,
};

/* What an option's value is, for the completions. */
enum option_value {
	VALUE_SWITCH,
	VALUE_FILES,
	VALUE_FOLDER,
	VALUE_SETTINGS,
	VALUE_TEXT,
	VALUE_PROVIDER,
	VALUE_OUTPUT,
	VALUE_COLOR,
};

struct text_list {
	char **items; /* point into the command line */
	size_t count;
};

struct args {
	enum command command;
	struct text_list rest; /* without options */
	struct text_list files;
	struct text_list against;
	struct text_list settings;
	char *provider;
	char *to;
	char *namespace;
	char *output;
	char *color;
	char *runtime_dir;
	char *timeout;
	bool secrets;
};

enum args_outcome { ARGS_OK, ARGS_DONE, ARGS_BAD };

/* DONE: help or the like was printed to `out`. BAD: *ret_problem says what is wrong (allocated). */
enum args_outcome args_parse(
	int argc, char **argv, struct args *ret_args, FILE *out, char **ret_problem);
void args_free(struct args *args);

void args_print_help(FILE *out, enum command command);
void args_print_overview(FILE *out);
/* mdoc(7) */
void args_print_man(FILE *out);
void args_print_markdown(FILE *out);
/* False: there is no such shell. */
bool args_print_completion(FILE *out, const char *shell);

/* ---- the table ---- */

struct command_spec {
	const char *name;
	const char *arguments;
	const char *summary;
	const char *description;
};

struct ctl_option_spec {
	char letter; /* 0: none */
	const char *name;
	const char *arg; /* NULL: a switch */
	enum option_value value;
	unsigned commands; /* bits */
	const char *help;
	size_t offset;
};

struct exit_spec {
	int number;
	const char *meaning;
};

extern const struct command_spec command_specs[COMMAND_COUNT];
extern const struct ctl_option_spec ctl_option_specs[];
extern const size_t ctl_option_count;
extern const struct exit_spec exit_specs[];
extern const size_t exit_count;
/* The words that a value of this sort may have, with spaces between them; NULL: any. */
const char *args_choices(enum option_value value);

// SPDX-License-Identifier: Apache-2.0
/* Commands, options and exit codes: commands.def and exits.def as tables, used to parse the command line (args.h) and to print help
 * (args_print.h). */
#pragma once

#include "sluicectl/args.h"

/* What an option's value is, for the completions. */
enum option_value {
	VALUE_SWITCH,
	VALUE_FILES,
	VALUE_FOLDER,
	VALUE_SETTINGS,
	VALUE_TEXT,
	VALUE_TEXTS,
	VALUE_PROVIDER,
	VALUE_OUTPUT,
	VALUE_COLOR,
};

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
/* The words allowed for a value of this kind, separated by spaces; NULL: any. */
const char *args_choices(enum option_value value);
/* Whether the option may be given several times. */
bool args_is_list(enum option_value value);

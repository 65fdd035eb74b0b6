// SPDX-License-Identifier: Apache-2.0
#include "sluicectl/args_table.h"

const struct command_spec command_specs[COMMAND_COUNT] = {
#define COMMAND(id, ...) {__VA_ARGS__},
#include "sluicectl/commands.def"
#undef COMMAND
};

#define ON(id) (1U << COMMAND_##id)
const struct ctl_option_spec ctl_option_specs[] = {
#define CTL_OPTION(member, letter_, name_, arg_, value_, commands_, help_) \
	{.letter = (letter_),                                              \
		.name = (name_),                                           \
		.arg = (arg_),                                             \
		.value = VALUE_##value_,                                   \
		.commands = (commands_),                                   \
		.help = (help_),                                           \
		.offset = offsetof(struct args, member)},
#include "sluicectl/commands.def"
#undef CTL_OPTION
};
#undef ON
const size_t ctl_option_count = sizeof(ctl_option_specs) / sizeof(ctl_option_specs[0]);

const struct exit_spec exit_specs[] = {
#define EXIT_CODE(id, number, meaning) {(number), (meaning)},
#include "sluicectl/exits.def"
#undef EXIT_CODE
};
const size_t exit_count = sizeof(exit_specs) / sizeof(exit_specs[0]);

bool args_is_list(enum option_value value)
{
	return value == VALUE_FILES || value == VALUE_SETTINGS || value == VALUE_TEXTS;
}

const char *args_choices(enum option_value value)
{
	switch (value) {
	case VALUE_PROVIDER:
		return "elb haproxy nginx rancher";
	case VALUE_OUTPUT:
		return "table wide json yaml";
	case VALUE_COLOR:
		return "always never auto";
	default:
		return NULL;
	}
}

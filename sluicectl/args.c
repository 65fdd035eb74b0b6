// SPDX-License-Identifier: Apache-2.0
#include "sluicectl/args.h"

#include "common/str.h"
#include "common/version.h"
#include "common/xalloc.h"
#include "sluicectl/args_print.h"
#include "sluicectl/args_table.h"

#include <stdlib.h>

static bool is_choice(const char *choices, const char *value)
{
	size_t len = strlen(value);
	while (*choices != '\0') {
		size_t word_len = strcspn(choices, " ");
		if (word_len == len && memcmp(choices, value, len) == 0)
			return true;
		choices += word_len + (choices[word_len] == ' ');
	}
	return false;
}

static void add(struct text_list *list, char *text)
{
	list->items = xreallocarray(list->items, list->count + 1, sizeof(*list->items));
	list->items[list->count++] = text;
}

static char *set(struct args *args, const struct ctl_option_spec *spec, char *value)
{
	void *member = (char *)args + spec->offset;
	const char *choices = args_choices(spec->value);
	if ((spec->commands >> args->command & 1) == 0)
		return xasprintf("%s does not know --%s; see sluicectl %s --help",
			command_specs[args->command].name, spec->name,
			command_specs[args->command].name);
	if (choices != NULL && (value == NULL || !is_choice(choices, value)))
		return xasprintf("--%s must be one of: %s", spec->name, choices);
	if (spec->arg == NULL)
		*(bool *)member = true;
	else if (spec->value == VALUE_FILES || spec->value == VALUE_SETTINGS)
		add(member, value);
	else
		*(char **)member = value;
	return NULL;
}

static const struct ctl_option_spec *find(const char *name, size_t len, char letter)
{
	for (size_t i = 0; i < ctl_option_count; i++) {
		const struct ctl_option_spec *spec = &ctl_option_specs[i];
		if (letter != 0 ? spec->letter == letter
				: strlen(spec->name) == len && memcmp(spec->name, name, len) == 0)
			return spec;
	}
	return NULL;
}

/* One option, with its value if that is another word. */
static char *take_option(struct args *args, int argc, char **argv, int *at)
{
	char *word = argv[*at];
	bool is_long = word[1] == '-';
	char *name = word + (is_long ? 2 : 1);
	size_t len = is_long ? strcspn(name, "=") : 1;
	const struct ctl_option_spec *spec = find(name, len, is_long ? 0 : name[0]);
	char *value = name[len] != '\0' ? name + len + (is_long ? 1 : 0) : NULL;
	if (spec == NULL)
		return xasprintf("there is no option %s; see sluicectl --help", word);
	if (spec->arg == NULL && value != NULL)
		return xasprintf("--%s has no value", spec->name);
	if (spec->arg != NULL && value == NULL) {
		if (*at + 1 >= argc)
			return xasprintf("--%s needs %s", spec->name, spec->arg);
		value = argv[++*at];
	}
	return set(args, spec, value);
}

static bool find_command(const char *name, enum command *ret_command)
{
	for (size_t i = 0; i < COMMAND_COUNT; i++) {
		if (strcmp(command_specs[i].name, name) == 0) {
			*ret_command = (enum command)i;
			return true;
		}
	}
	return false;
}

/* --help and the like, as all programs have them. */
static bool print_whole(const char *word, FILE *out)
{
	if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0)
		args_print_overview(out);
	else if (strcmp(word, "--help=man") == 0)
		args_print_man(out);
	else if (strcmp(word, "--help=markdown") == 0)
		args_print_markdown(out);
	else if (strcmp(word, "--version") == 0)
		fprintf(out, "sluicectl %s\n", SLUICE_VERSION);
	else
		return false;
	return true;
}

enum args_outcome args_parse(
	int argc, char **argv, struct args *ret_args, FILE *out, char **ret_problem)
{
	bool is_rest = false;
	*ret_args = (struct args){0};
	if (argc < 2) {
		*ret_problem = xstrdup("a command is missing; see sluicectl --help");
		return ARGS_BAD;
	}
	if (print_whole(argv[1], out))
		return ARGS_DONE;
	if (!find_command(argv[1], &ret_args->command)) {
		*ret_problem =
			xasprintf("there is no command \"%s\"; see sluicectl --help", argv[1]);
		return ARGS_BAD;
	}
	for (int i = 2; i < argc; i++) {
		if (is_rest || argv[i][0] != '-' || argv[i][1] == '\0') {
			add(&ret_args->rest, argv[i]);
		} else if (strcmp(argv[i], "--") == 0) {
			is_rest = true;
		} else if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
			args_print_help(out, ret_args->command);
			return ARGS_DONE;
		} else {
			*ret_problem = take_option(ret_args, argc, argv, &i);
			if (*ret_problem != NULL)
				return ARGS_BAD;
		}
	}
	return ARGS_OK;
}

void args_free(struct args *args)
{
	free(args->rest.items);
	free(args->files.items);
	free(args->against.items);
	free(args->settings.items);
}

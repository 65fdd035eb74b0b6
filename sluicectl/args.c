// SPDX-License-Identifier: Apache-2.0
#include "sluicectl/args.h"

#include "common/str.h"
#include "common/version.h"
#include "common/xalloc.h"
#include "sluicectl/args_print.h"
#include "sluicectl/args_table.h"
#include "sluicectl/programs.h"

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

static bool is_provider(const char *name)
{
	char *program = program_find_provider(name);
	free(program);
	return program != NULL;
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
	/* Other people's providers may have other names. */
	if (choices != NULL && (value == NULL || !is_choice(choices, value)) &&
		(spec->value != VALUE_PROVIDER || value == NULL || !is_provider(value)))
		return xasprintf("--%s must be one of: %s", spec->name, choices);
	if (spec->arg == NULL)
		*(bool *)member = true;
	else if (args_is_list(spec->value))
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

/* An option as written on the command line. */
struct word {
	const struct ctl_option_spec *spec; /* NULL: unknown */
	char *value;                        /* after `=` or the letter; NULL: none */
};

static bool is_option(const char *word)
{
	return word[0] == '-' && word[1] != '\0';
}

static bool is_help(const char *word)
{
	return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

static struct word read_word(char *text)
{
	bool is_long = text[1] == '-';
	char *name = text + (is_long ? 2 : 1);
	size_t len = is_long ? strcspn(name, "=") : 1;
	return (struct word){
		.spec = find(name, len, is_long ? 0 : name[0]),
		.value = name[len] != '\0' ? name + len + (is_long ? 1 : 0) : NULL,
	};
}

static bool takes_next(const struct word *word)
{
	return word->spec != NULL && word->spec->arg != NULL && word->value == NULL;
}

/* One option, and its value if that is a separate word. */
static char *take_option(struct args *args, int argc, char **argv, int *at)
{
	struct word word = read_word(argv[*at]);
	if (word.spec == NULL)
		return xasprintf("there is no option %s; see sluicectl --help", argv[*at]);
	if (word.spec->arg == NULL && word.value != NULL)
		return xasprintf("--%s has no value", word.spec->name);
	if (takes_next(&word)) {
		if (*at + 1 >= argc)
			return xasprintf("--%s needs %s", word.spec->name, word.spec->arg);
		word.value = argv[++*at];
	}
	return set(args, word.spec, word.value);
}

/* The first word that is neither an option nor an option's value; argc: there is none. */
static int find_command_word(int argc, char **argv)
{
	int at = 1;
	for (; at < argc; at++) {
		if (strcmp(argv[at], "--") == 0)
			return at + 1;
		if (!is_option(argv[at]))
			return at;
		struct word word = read_word(argv[at]);
		at += takes_next(&word) ? 1 : 0;
	}
	return argc;
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

/* --help and its variants, which all programs have; after a command, --help is the command's own. */
static bool print_whole(const char *word, bool has_command, FILE *out)
{
	if (is_help(word) && !has_command)
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

/* The command, and the options before it. */
static enum args_outcome take_command(
	int argc, char **argv, int at, struct args *args, FILE *out, char **ret_problem)
{
	const char *name = at < argc ? argv[at] : NULL;
	bool is_help_of = name != NULL && strcmp(name, "help") == 0;
	name = is_help_of ? (at + 1 < argc ? argv[at + 1] : NULL) : name;
	bool has_command = name != NULL && find_command(name, &args->command);
	for (int i = 1; i < at && i < argc; i++) {
		if (print_whole(argv[i], has_command, out))
			return ARGS_DONE;
	}
	if (is_help_of && name == NULL) {
		args_print_overview(out);
		return ARGS_DONE;
	}
	if (is_help_of && has_command) {
		args_print_help(out, args->command);
		return ARGS_DONE;
	}
	if (has_command)
		return ARGS_OK;
	*ret_problem =
		name == NULL ? xstrdup("a command is missing; see sluicectl --help")
			     : xasprintf("there is no command \"%s\"; see sluicectl --help", name);
	return ARGS_BAD;
}

enum args_outcome args_parse(
	int argc, char **argv, struct args *ret_args, FILE *out, char **ret_problem)
{
	bool is_rest = false;
	int command_at = find_command_word(argc, argv);
	*ret_args = (struct args){0};
	enum args_outcome outcome =
		take_command(argc, argv, command_at, ret_args, out, ret_problem);
	for (int i = 1; i < argc && outcome == ARGS_OK; i++) {
		if (i == command_at)
			continue;
		if (is_rest || !is_option(argv[i])) {
			add(&ret_args->rest, argv[i]);
		} else if (strcmp(argv[i], "--") == 0) {
			is_rest = i > command_at;
		} else if (is_help(argv[i])) {
			args_print_help(out, ret_args->command);
			return ARGS_DONE;
		} else {
			*ret_problem = take_option(ret_args, argc, argv, &i);
			outcome = *ret_problem != NULL ? ARGS_BAD : ARGS_OK;
		}
	}
	return outcome;
}

void args_free(struct args *args)
{
	free(args->rest.items);
	free(args->files.items);
	free(args->against.items);
	free(args->settings.items);
	free(args->headers.items);
	free(args->ignored_headers.items);
}

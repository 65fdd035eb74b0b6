// SPDX-License-Identifier: Apache-2.0
#include "common/options.h"

#include "common/must.h"
#include "common/str.h"
#include "common/xalloc.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>

enum {
	OPT_HELP = 1000,
	OPT_VERSION,
	OPT_CONFIG,
	OPT_FIRST,                /* + index of the option */
	OPT_FIRST_NEGATED = 2000, /* + index: --no-name */
	FILE_LINE_MAX = OPTION_VALUE_LEN_MAX + 256,
};

/* Names of options and variables in 0.1.0; still accepted, and documented only in the changelog. */
static const struct renamed {
	char name[24];
	char former_name[24];
	char former_env[32];
} RENAMED[] = {
	{"admin-address", "window", "SLUICE_WINDOW"},
	{"admin-dir", "window-dir", "SLUICE_WINDOW_DIR"},
	{"admin-allow-uid", "window-allow-uid", "SLUICE_WINDOW_ALLOW_UID"},
};
enum { RENAMED_COUNT = sizeof(RENAMED) / sizeof(RENAMED[0]) };

/* NULL: the option was never renamed. */
static const struct renamed *find_renamed(const struct option_spec *spec)
{
	for (size_t i = 0; i < RENAMED_COUNT; i++) {
		if (strcmp(spec->name, RENAMED[i].name) == 0)
			return &RENAMED[i];
	}
	return NULL;
}

static void *member_of(const struct option_spec *spec, void *config)
{
	return (char *)config + spec->offset;
}

/* The source of an option's value; a weaker source never overrides a stronger one. */
enum source { SOURCE_DEFAULT, SOURCE_FILE, SOURCE_ENV, SOURCE_ARGS };
static const char *const SOURCE_NAMES[] = {
	"default of", "file, option", "environment variable", "option"};

struct parse {
	const struct option_table *table;
	void *config;
	enum source set_by[OPTIONS_MAX];
	char *problem;
};

static bool parse_bool(const char *text, bool *ret_value)
{
	static const char *const yes[] = {"true", "yes", "on", "1"};
	static const char *const no[] = {"false", "no", "off", "0"};
	for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++) {
		if (strcmp(text, yes[i]) == 0 || strcmp(text, no[i]) == 0) {
			*ret_value = strcmp(text, yes[i]) == 0;
			return true;
		}
	}
	return false;
}

static bool parse_seconds(const char *text, double *ret_value)
{
	char *end = NULL;
	errno = 0;
	double value = strtod(text, &end);
	if (end == text || errno != 0 || !isfinite(value))
		return false;
	if (strcmp(end, "ms") == 0)
		value /= 1000.0;
	else if (strcmp(end, "m") == 0)
		value *= 60.0;
	else if (*end != '\0' && strcmp(end, "s") != 0)
		return false;
	*ret_value = value;
	return true;
}

/* Index of `text` among the words of "a|b|c"; -1: not found. */
static int find_choice(const char *choices, const char *text)
{
	int index = 0;
	for (const char *word = choices;; index++) {
		size_t len = strcspn(word, "|");
		if (strlen(text) == len && memcmp(word, text, len) == 0)
			return index;
		if (word[len] == '\0')
			return -1;
		word += len + 1;
	}
}

static void list_add(struct option_list *list, const char *item, size_t len)
{
	list->items = xreallocarray(list->items, list->count + 1, sizeof(*list->items));
	list->items[list->count++] = xstrndup(item, len);
}

static void list_free(struct option_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->items[i]);
	free(list->items);
	*list = (struct option_list){0};
}

static bool list_parse(struct option_list *list, const char *text)
{
	while (*text != '\0') {
		size_t len = strcspn(text, ",");
		if (len != 0) {
			if (list->count == OPTION_LIST_MAX)
				return false;
			list_add(list, text, len);
		}
		text += len + (text[len] == ',');
	}
	return true;
}

static void complain(struct parse *p, enum source source, const struct option_spec *spec,
	const char *text, const char *want)
{
	const char *name = source == SOURCE_ENV ? spec->env : spec->name;
	const char *dashes = source == SOURCE_ENV ? "" : "--";
	free(p->problem);
	p->problem = spec->is_secret ? xasprintf("%s %s%s: the value must be %s",
					       SOURCE_NAMES[source], dashes, name, want)
				     : xasprintf("%s %s%s: \"%.200s\" is not %s",
					       SOURCE_NAMES[source], dashes, name, text, want);
}

static void complain_range(struct parse *p, enum source source, const struct option_spec *spec,
	const char *text, const char *what)
{
	char *want = xasprintf("%s from %.15g to %.15g", what, spec->min, spec->max);
	complain(p, source, spec, text, want);
	free(want);
}

static bool set_number(
	struct parse *p, enum source source, const struct option_spec *spec, const char *text)
{
	double seconds = 0;
	int64_t whole = 0;
	if (spec->type == OPTION_SECONDS) {
		if (!parse_seconds(text, &seconds) || seconds < spec->min || seconds > spec->max) {
			complain_range(p, source, spec, text, "a number of seconds");
			return false;
		}
		*(double *)member_of(spec, p->config) = seconds;
		return true;
	}
	if (!str_to_int(str_from(text), (int64_t)spec->min, (int64_t)spec->max, &whole)) {
		complain_range(p, source, spec, text, "a whole number");
		return false;
	}
	*(int64_t *)member_of(spec, p->config) = whole;
	return true;
}

static bool set_choice(
	struct parse *p, enum source source, const struct option_spec *spec, const char *text)
{
	int index = find_choice(spec->choices, text);
	if (index < 0) {
		char *want = xasprintf("one of %s", spec->choices);
		complain(p, source, spec, text, want);
		free(want);
		return false;
	}
	*(int *)member_of(spec, p->config) = index;
	return true;
}

static bool set_value(struct parse *p, enum source source, size_t index, const char *text)
{
	const struct option_spec *spec = &p->table->options[index];
	void *member = member_of(spec, p->config);
	bool first = p->set_by[index] != source;
	if (p->set_by[index] > source)
		return true;
	if (strlen(text) > OPTION_VALUE_LEN_MAX) {
		complain(p, source, spec, "(very long)", "short enough");
		return false;
	}
	p->set_by[index] = source;
	switch (spec->type) {
	case OPTION_BOOL:
		if (parse_bool(text, member))
			return true;
		complain(p, source, spec, text, "true or false");
		return false;
	case OPTION_INT:
	case OPTION_SECONDS:
		return set_number(p, source, spec, text);
	case OPTION_CHOICE:
		return set_choice(p, source, spec, text);
	case OPTION_STRING:
		free(*(char **)member);
		*(char **)member = xstrdup(text);
		return true;
	case OPTION_LIST:
		if (first)
			list_free(member);
		if (list_parse(member, text))
			return true;
		complain(p, source, spec, "(long list)", "short enough");
		return false;
	case OPTION_FILES:
		if (first)
			list_free(member);
		list_add(member, text, strlen(text));
		return true;
	}
	must(false);
}

static bool find_option(const struct option_table *table, struct str name, size_t *ret_index)
{
	for (size_t i = 0; i < table->count; i++) {
		const struct renamed *renamed = find_renamed(&table->options[i]);
		if (str_eq_c(name, table->options[i].name) ||
			(renamed != NULL && str_eq_c(name, renamed->former_name))) {
			*ret_index = i;
			return true;
		}
	}
	return false;
}

static size_t first_word_len(struct str text)
{
	size_t len = 0;
	while (len < text.len && strchr(" \t:", text.p[len]) == NULL)
		len++;
	return len;
}

static bool parse_file_line(struct parse *p, const char *path, int number, struct str line)
{
	line = str_trim(line);
	if (line.len == 0 || line.p[0] == '#')
		return true;
	const char *equals = str_find(line, '=');
	size_t index = 0;
	struct str name = line;
	if (equals != NULL)
		name = str_trim((struct str){line.p, (size_t)(equals - line.p)});
	if (equals == NULL || !find_option(p->table, name, &index)) {
		/* Without an equals sign the rest could be a secret. */
		name.len = equals != NULL ? name.len : first_word_len(name);
		p->problem =
			xasprintf("%s:%d: \"%.*s\" is no option; lines are `name = value` with "
				  "the names that --help shows",
				path, number, STR_FMT(name));
		return false;
	}
	char *value = str_dup(str_trim(str_skip(line, (size_t)(equals - line.p) + 1)));
	bool good = set_value(p, SOURCE_FILE, index, value);
	free(value);
	return good;
}

static bool parse_file(struct parse *p, const char *path)
{
	FILE *file = fopen(path, "re");
	if (file == NULL) {
		p->problem =
			xasprintf("option --config: cannot read %s: %s", path, strerror(errno));
		return false;
	}
	static char line[FILE_LINE_MAX];
	bool good = true;
	for (int number = 1; good && fgets(line, sizeof(line), file) != NULL; number++)
		good = parse_file_line(p, path, number, str_from(line));
	fclose(file);
	return good;
}

static void build_getopt(const struct option_table *table, struct option *longs)
{
	size_t n = 0;
	longs[n++] = (struct option){"help", optional_argument, NULL, OPT_HELP};
	longs[n++] = (struct option){"version", no_argument, NULL, OPT_VERSION};
	longs[n++] = (struct option){"config", required_argument, NULL, OPT_CONFIG};
	for (size_t i = 0; i < table->count; i++) {
		const struct option_spec *spec = &table->options[i];
		int has_arg = spec->type == OPTION_BOOL ? optional_argument : required_argument;
		const struct renamed *renamed = find_renamed(spec);
		longs[n++] = (struct option){spec->name, has_arg, NULL, OPT_FIRST + (int)i};
		if (renamed != NULL)
			longs[n++] = (struct option){
				renamed->former_name, has_arg, NULL, OPT_FIRST + (int)i};
	}
	longs[n] = (struct option){0};
}

/* --no-name of booleans is handled here: getopt would need a list of all such names. */
static bool take_negated(struct parse *p, const char *arg)
{
	size_t index = 0;
	if (strncmp(arg, "--no-", 5) != 0 || !find_option(p->table, str_from(arg + 5), &index) ||
		p->table->options[index].type != OPTION_BOOL)
		return false;
	return set_value(p, SOURCE_ARGS, index, "false");
}

static enum options_outcome take_help(struct parse *p, const char *form)
{
	if (form == NULL || strcmp(form, "text") == 0)
		return OPTIONS_HELP;
	if (strcmp(form, "man") == 0)
		return OPTIONS_MAN;
	if (strcmp(form, "markdown") == 0)
		return OPTIONS_MARKDOWN;
	if (strcmp(form, "events") == 0)
		return OPTIONS_EVENTS;
	if (strcmp(form, "options") == 0)
		return OPTIONS_NAMES;
	p->problem = xasprintf(
		"option --help: \"%.200s\" is no form; text, man, markdown, events and options are",
		form);
	return OPTIONS_BAD;
}

/* Anybody can read the command line of a process, so secrets are overwritten there. */
static bool take_option(struct parse *p, size_t index)
{
	bool good = set_value(p, SOURCE_ARGS, index, optarg != NULL ? optarg : "true");
	if (p->table->options[index].is_secret && optarg != NULL)
		memset(optarg, '*', strlen(optarg));
	return good;
}

static enum options_outcome parse_args(struct parse *p, int argc, char **argv, char **ret_file)
{
	struct option longs[OPTIONS_MAX + RENAMED_COUNT + 4];
	build_getopt(p->table, longs);
	optind = 0;
	opterr = 0;
	for (;;) {
		int at = optind == 0 ? 1 : optind;
		if (at < argc && take_negated(p, argv[at])) {
			optind = at + 1;
			continue;
		}
		int got = getopt_long(argc, argv, "+:h", longs, NULL);
		if (got == -1)
			break;
		if (got == OPT_HELP || got == 'h')
			return take_help(p, optarg);
		if (got == OPT_VERSION)
			return OPTIONS_VERSION;
		if (got == OPT_CONFIG) {
			*ret_file = optarg;
		} else if (got == '?' || got == ':') {
			/* What follows the name may be a secret. */
			const char *word = argv[optind - 1];
			size_t len = strcspn(word, "=");
			p->problem = xasprintf("option %.*s: %s; --help lists all options",
				(int)(len < 200 ? len : 200), word,
				got == '?' ? "unknown" : "needs a value");
			return OPTIONS_BAD;
		} else if (!take_option(p, (size_t)(got - OPT_FIRST))) {
			return OPTIONS_BAD;
		}
	}
	if (optind < argc) {
		p->problem = xasprintf(
			"\"%.200s\": only options are expected; --help lists them", argv[optind]);
		return OPTIONS_BAD;
	}
	return OPTIONS_OK;
}

/* NULL: not set. Compose files and unit files express that by an empty variable. */
static const char *find_variable(
	const struct option_spec *spec, char *(*environ_get)(const char *name))
{
	const struct renamed *renamed = find_renamed(spec);
	const char *value = spec->env != NULL ? environ_get(spec->env) : NULL;
	if ((value == NULL || *value == '\0') && renamed != NULL)
		value = environ_get(renamed->former_env);
	return value != NULL && *value != '\0' ? value : NULL;
}

static bool parse_environment(struct parse *p, char *(*environ_get)(const char *name))
{
	for (size_t i = 0; i < p->table->count; i++) {
		const char *value = find_variable(&p->table->options[i], environ_get);
		if (value != NULL && !set_value(p, SOURCE_ENV, i, value))
			return false;
	}
	return true;
}

enum options_outcome options_parse(const struct option_table *table, void *config, int argc,
	char **argv, char *(*environ_get)(const char *name), char **ret_problem)
{
	must(table->count <= OPTIONS_MAX);
	struct parse p = {.table = table, .config = config};
	char *file = NULL;
	memset(config, 0, table->config_size);
	for (size_t i = 0; i < table->count; i++) {
		const char *fallback = table->options[i].fallback;
		must(fallback == NULL || set_value(&p, SOURCE_DEFAULT, i, fallback));
	}
	enum options_outcome outcome = parse_args(&p, argc, argv, &file);
	if (outcome == OPTIONS_OK && !parse_environment(&p, environ_get))
		outcome = OPTIONS_BAD;
	if (outcome == OPTIONS_OK && file != NULL && !parse_file(&p, file))
		outcome = OPTIONS_BAD;
	if (outcome == OPTIONS_BAD)
		*ret_problem = p.problem;
	else
		free(p.problem);
	return outcome;
}

void options_free(const struct option_table *table, void *config)
{
	for (size_t i = 0; i < table->count; i++) {
		const struct option_spec *spec = &table->options[i];
		void *member = member_of(spec, config);
		if (spec->type == OPTION_LIST || spec->type == OPTION_FILES) {
			list_free(member);
		} else if (spec->type == OPTION_STRING) {
			char *text = *(char **)member;
			if (spec->is_secret && text != NULL)
				explicit_bzero(text, strlen(text));
			free(text);
			*(char **)member = NULL;
		}
	}
}

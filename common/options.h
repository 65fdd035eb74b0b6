// SPDX-License-Identifier: Apache-2.0
/*
 * Options of a process, from one table: command line parser, environment, file, checks, --help and
 * the reference in the documents all come from it, so they cannot disagree.
 *
 * The order of precedence is command line, environment, file (`--config FILE`, lines `name =
 * value`, `#` starts a comment), default. Unknown names are errors wherever they stand, except in
 * the environment, where only names of the table are looked at.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { OPTIONS_MAX = 64, OPTION_VALUE_LEN_MAX = 16 * 1024, OPTION_LIST_MAX = 1024 };

/* The type decides the C type of the member: bool, int64_t, double, char *, struct option_list
 * (of two types), int. */
enum option_type {
	OPTION_BOOL,    /* --name, --name=true|false, --no-name */
	OPTION_INT,     /* whole number within [min, max] */
	OPTION_SECONDS, /* number of seconds within [min, max], fractions allowed */
	OPTION_STRING,  /* NULL when not given and without default */
	OPTION_LIST,    /* may be given several times; commas separate too */
	OPTION_FILES,   /* a list, each as it stands: may be given several times */
	OPTION_CHOICE,  /* one of the words of `choices`, "a|b|c"; the member is the index */
};

struct option_list {
	char **items;
	size_t count;
};

struct option_spec {
	const char *name;
	const char *env; /* NULL: none */
	enum option_type type;
	size_t offset;
	const char *fallback; /* default as text; NULL: unset, false, 0 or empty */
	double min;
	double max;
	const char *choices;
	const char *arg; /* what --help shows for the value */
	const char *help;
	bool is_secret; /* never shown */
};

struct option_table {
	const char *program;
	const char *summary; /* one line */
	const char *details; /* paragraphs below the options in --help, or NULL */
	const struct option_spec *options;
	size_t count;
	size_t config_size;
};

enum options_outcome {
	OPTIONS_OK,
	OPTIONS_HELP,     /* --help was asked for; options_print_help() */
	OPTIONS_MAN,      /* --help=man; options_print_man() */
	OPTIONS_MARKDOWN, /* --help=markdown; options_print_markdown() */
	OPTIONS_EVENTS,   /* --help=events; log_print_events() */
	OPTIONS_NAMES,    /* --help=options; options_print_names() */
	OPTIONS_VERSION,  /* --version was asked for */
	OPTIONS_BAD,      /* *ret_problem says what and what to do; the caller frees it */
};

/* Fills config (zeroed first). `environ_get` is getenv, or a fake in tests. options_free() gives it
 * back, also after BAD. */
enum options_outcome options_parse(const struct option_table *table, void *config, int argc,
	char **argv, char *(*environ_get)(const char *name), char **ret_problem);
void options_free(const struct option_table *table, void *config);
void options_print_help(const struct option_table *table, FILE *out);
/* The names of the options, a line each, for programs. */
void options_print_names(const struct option_table *table, FILE *out);
/* A manual page, in mdoc(7). */
void options_print_man(const struct option_table *table, FILE *out);
/* A section of the configuration reference. */
void options_print_markdown(const struct option_table *table, FILE *out);
/* One option's effective value as text for the log; the caller frees it. Secrets give "(set)" or
 * "(unset)". */
char *options_value_text(const struct option_spec *spec, const void *config);

/* A .def line is OPTION(member, "name", "ENV", TYPE, default, min, max, choices, "ARG", "help"). */
#define OPTION_SPEC(                                                                           \
	config_type, member, name_, env_, type_, fallback_, min_, max_, choices_, arg_, help_) \
	{.name = (name_),                                                                      \
		.env = (env_),                                                                 \
		.type = OPTION_##type_,                                                        \
		.offset = offsetof(config_type, member),                                       \
		.fallback = (fallback_),                                                       \
		.min = (min_),                                                                 \
		.max = (max_),                                                                 \
		.choices = (choices_),                                                         \
		.arg = (arg_),                                                                 \
		.help = (help_)},

// SPDX-License-Identifier: Apache-2.0
/* The command line, read by the one table of commands.def. No I/O but printing help, and looking for
 * the program of a provider. */
#pragma once

#include "sluicectl/exits.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum command {
#define COMMAND(id, name, arguments, summary, description) COMMAND_##id,
#include "sluicectl/commands.def"
#undef COMMAND
	COMMAND_COUNT,
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
	struct text_list headers;
	char *provider;
	char *to;
	char *manifests;
	char *namespace;
	char *output;
	char *color;
	char *runtime_dir;
	char *listen;
	char *timeout;
	char *from;
	char *body_bytes;
	bool has_certificate;
	char *old_url;
	char *new_url;
	char *log;
	char *host;
	char *rate;
	char *requests;
	char *backend_header;
	struct text_list ignored_headers;
	char *match;
	char *skip;
	char *limit;
	bool worst_first;
	bool rows;
	bool once;
	char *sort;
	char *interval;
	bool bodies;
	bool verify;
	bool unsafe_methods;
	bool secrets;
};

enum args_outcome { ARGS_OK, ARGS_DONE, ARGS_BAD };

/* DONE: help or the like was printed to `out`. BAD: *ret_problem says what is wrong (allocated). */
enum args_outcome args_parse(
	int argc, char **argv, struct args *ret_args, FILE *out, char **ret_problem);
void args_free(struct args *args);

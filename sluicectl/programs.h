// SPDX-License-Identifier: Apache-2.0
/*
 * The programs of the line, which sluicectl starts as filters: where they are, and which options each has.
 */
#pragma once

#include "sluicectl/args.h"

/* The path of a program: beside ours, where a build has it, or where it is installed; NULL: it is not there. The caller frees it. */
char *program_find(const char *name);
/* Of the provider of that name; likewise. */
char *program_find_provider(const char *provider);
/* Says that it is missing, and what to install; allocated. */
char *program_missing(const char *name);

/* The words of a command line, all allocated. */
struct argument_list {
	char **words; /* ends in NULL */
	size_t count;
};

void arguments_add(struct argument_list *list, char *word);
void arguments_free(struct argument_list *list);

/* Deals "NAME=VALUE" of --with out to the programs that have such an option, as `--NAME=VALUE`: lists[i] is that of paths[i]. NULL, or what is wrong (allocated). */
char *programs_deal_settings(const struct text_list *settings, char *const *paths,
	struct argument_list *lists, size_t count);

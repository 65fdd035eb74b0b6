// SPDX-License-Identifier: Apache-2.0
/* Output common to all commands: error messages, and whether to use colours. */
#pragma once

#include "common/str.h"
#include "sluicectl/args.h"

#include <stdio.h>

/* Prints an error to standard error; frees the text. */
void command_complain(char *problem);
/* Colours were asked for, or the output is a terminal. */
bool command_has_color(const struct args *args);
/* Prints text of tenants and of programs: it must not control the terminal. */
void command_print_clean(struct str text);
void command_write_clean(FILE *out, struct str text);

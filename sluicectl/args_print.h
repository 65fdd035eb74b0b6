// SPDX-License-Identifier: Apache-2.0
/* Help, manual and completions from the tables. */
#pragma once

#include "sluicectl/args.h"

void args_print_help(FILE *out, enum command command);
void args_print_overview(FILE *out);
/* mdoc(7) */
void args_print_man(FILE *out);
void args_print_markdown(FILE *out);
/* False: there is no such shell. */
bool args_print_completion(FILE *out, const char *shell);

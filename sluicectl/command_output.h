// SPDX-License-Identifier: Apache-2.0
/* What all commands say in the same way: complaints, and whether there are colours. */
#pragma once

#include "sluicectl/args.h"

/* Says on standard error what is wrong; frees the text. */
void command_complain(char *problem);
/* Colours were asked for, or the output is a terminal. */
bool command_has_color(const struct args *args);

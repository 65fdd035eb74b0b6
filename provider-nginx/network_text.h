// SPDX-License-Identifier: Apache-2.0
/* Networks in a tree as what lua/sluice/networks.lua searches by halves: ranges of addresses, sorted, none of which touch each other. No I/O. */
#pragma once

#include "provider-nginx/tree_text.h"

/* Adds a list of the word and the ranges: `v4` or `v6`, and for each range its first and last address in hexadecimal digits. Nothing without networks; all
 * have to be good ones. */
void network_text_add(
	struct tree_text *tree, const char *word, const struct str *networks, size_t count);

// SPDX-License-Identifier: Apache-2.0
/*
 * What the page of `web` may ask for: each path below api/ is a command of sluicectl with the options that its parameters become. So the page
 * says what the commands say, by the same code. Only commands that read are in the table. No I/O.
 */
#pragma once

#include "common/arena.h"

enum {
	WEB_WORDS_MAX = 64,      /* of a command line */
	WEB_LINES_MAX = 32,      /* of a parameter with several lines */
	WEB_VALUE_LEN_MAX = 2048 /* of a parameter */
};

struct web_api;

/* NULL: there is none of this name. */
const struct web_api *web_api_find(struct str name);
/* Content type of what the command prints. */
const char *web_api_type(const struct web_api *api);
/* The command prints how things are also when it fails because a program is away. */
bool web_api_tells_anyway(const struct web_api *api);
/* The command's words, which begin with its name and end in NULL, for a query string. NULL, or what is wrong (allocated). The words live in
 * the arena, or as long as the program. No value can become an option: those are --NAME=VALUE, the rest stands behind --. */
char *web_api_words(const struct web_api *api, struct str query, struct arena *arena,
	const char *ret_words[static WEB_WORDS_MAX]);

// SPDX-License-Identifier: Apache-2.0
/* sluice-proxy, which runs the proxy: how it is started where nobody else starts it, and its lines. */
#pragma once

#include "provider-proxy/proxy.h"

/* Where its program is: beside ours, installed or in the folder of a build, else by its name in PATH. To be freed by the caller. */
char *supervisor_find(void);
/* Its process, or -1. It runs in a session of its own: it outlives us, and signals to our terminal or process group do not reach it. */
pid_t supervisor_start(const struct proxy_config *config);

/* One of its lines (provider-supervisor/README.md), split at tabs; the last field has all that is left, missing ones are empty. */
enum { SUPERVISOR_FIELDS_MAX = 4 };
struct supervisor_line {
	struct str fields[SUPERVISOR_FIELDS_MAX];
};
struct supervisor_line supervisor_split(struct str text);

/* What it tells of the proxy's output: a tab stands behind each line of that. */
enum { SUPERVISOR_WORDS_LEN_MAX = 2048, SUPERVISOR_LAST_LEN_MAX = 500 };
struct supervisor_words {
	char text[SUPERVISOR_WORDS_LEN_MAX + 1]; /* in one line */
	size_t last; /* where the last lines begin, as many as a message has room for */
};
void supervisor_keep_words(struct supervisor_words *words, struct str told);

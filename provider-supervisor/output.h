// SPDX-License-Identifier: Apache-2.0
/*
 * The proxy's standard output and error. They go straight to a file, which the proxy can write whatever becomes of us. The file is kept short,
 * because its folder is in memory, even while clients make the proxy write without end. It can also be copied to our own standard error, where
 * containers and service managers look.
 */
#pragma once

#include "common/str.h"

#include <ev.h>
#include <stdbool.h>

enum { OUTPUT_LEN_MAX = 1024 * 1024, OUTPUT_LAST_LEN_MAX = 2048 };

struct output;

/* `on_words` is called, at most twice a second, when there is something new. */
struct output *output_new(struct ev_loop *loop, const char *path, bool is_shown,
	void (*on_words)(void *ctx), void *ctx);
void output_free(struct output *output);

/* A proxy is being started: what is there now is from a former one. */
void output_mark(struct output *output);
/* Reads what is new at once. */
void output_look(struct output *output);
/* The end of its output since then, with a tab in place of each line end; begins at a line, or else at a word; valid until the next look. */
const char *output_last(const struct output *output);

// SPDX-License-Identifier: Apache-2.0
/*
 * What the proxy writes to its streams. It goes straight to a file, which the proxy can write whatever becomes of us; the file is kept
 * short, since its folder is in memory, also while clients have the proxy write without end, and can be shown on our own standard error, where
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

/* A proxy is started: what is there now is of a former one. */
void output_mark(struct output *output);
/* Looks at what has come just now. */
void output_look(struct output *output);
/* The end of what it wrote since then, in one line that begins with a whole one of its own, or else with a whole word; valid until the next look. */
const char *output_last(const struct output *output);

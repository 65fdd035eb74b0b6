// SPDX-License-Identifier: Apache-2.0
/*
 * Takes the wanted configuration of nginx into use: nginx itself checks it, then it is installed and loaded. Reloads are rate-limited, so that
 * no tenant can wear nginx out.
 *
 *   IDLE --touched--> TESTING --good--> (installed) --nginx runs--> RELOADING --nginx tells the generation--> IDLE
 *                      |  ^
 *              refused v  | other pieces
 *                    bisection: pieces that nginx refuses are left out, and told to those who own them
 *
 * What nginx refuses is never installed. A reload that fails puts the old file back.
 */
#pragma once

#include "common/command.h"
#include "provider-proxy/notices.h"
#include "provider-nginx/conf.h"

#include <ev.h>

struct setup;

struct setup_ops {
	/* What is wanted now; it must stay as it is until the next call. NULL: nothing can be said now. */
	const struct conf *(*collect)(void *ctx);
	/* Have nginx check nginx.conf.candidate; the answer comes from the loop. */
	void (*check)(void *ctx, command_done *on_done, void *done_ctx);
	/* The file has been replaced: start nginx, or have it reload. False: it does not run yet, and will start with the file. */
	bool (*reload)(void *ctx);
	/* Have nginx tell its generation, see setup_told(). */
	void (*ask)(void *ctx);
	/* It may have become settled, or setup_trouble() may have changed. */
	void (*on_change)(void *ctx);
	/* The end of what nginx wrote; for messages. */
	const char *(*last_output)(void *ctx);
};

struct setup_config {
	struct ev_loop *loop;
	const char *state_dir; /* copied */
	/* Between two reloads: at least, and when they are asked for without end, see pace.h. */
	double interval_s[2];
	struct notices *notices;
	const struct setup_ops *ops;
	void *ctx;
};

struct setup *setup_new(const struct setup_config *config);
void setup_free(struct setup *setup);

/* What is wanted may have changed. Cheap. */
void setup_touch(struct setup *setup);
/* nginx runs this generation. */
void setup_told(struct setup *setup, uint64_t generation);
/* nginx does not run: nothing is known of what it runs. */
void setup_nginx_down(struct setup *setup);
/* nginx runs what is wanted, apart from refused pieces. */
bool setup_is_settled(const struct setup *setup);
/* What stands in the way, in words; NULL: nothing. */
const char *setup_trouble(const struct setup *setup);
/* Checks the file, reports what is wrong with it, and rewrites it; false: its content is not known. */
bool setup_repair(struct setup *setup);
/* Whether there is a file that nginx can start with. */
bool setup_has_file(const struct setup *setup);
/* The file that is on its way, for setup_ops.reload(). */
struct str setup_candidate(const struct setup *setup);
/* The file that was found at the start, or that was installed last; empty when there is none. */
struct str setup_file(const struct setup *setup);

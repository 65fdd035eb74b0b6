// SPDX-License-Identifier: Apache-2.0
/*
 * Runs commands of sluicectl for the page of `web`: each in a process of its own, which is our own program, so that a program of the line that
 * hangs holds up nobody else, and what one request takes is gone with it. At most WEB_RUNS_MAX at a time; the others wait in their order.
 */
#pragma once

#include "common/admin_server.h"
#include "sluicectl/web_api.h"

enum {
	WEB_RUNS_MAX = 4,
	WEB_RUN_S = 30,                       /* how long one may take */
	WEB_ANSWER_LEN_MAX = 8 * 1024 * 1024, /* of what it prints */
};

struct web_runs;

/* `runtime_dir` and `timeout_s` are handed to each command; the former must live as long. Needs the default loop. */
struct web_runs *web_runs_new(struct ev_loop *loop, const char *runtime_dir, double timeout_s);
/* Starts no more of them; to be called before the admin server is freed. */
void web_runs_stop(struct web_runs *runs);
/* After it has been freed. */
void web_runs_free(struct web_runs *runs);
/* Answers with what the command prints, or with what is wrong as {"error": TEXT}. */
void web_runs_add(struct web_runs *runs, const struct web_api *api, struct str query,
	struct admin_reply *reply);

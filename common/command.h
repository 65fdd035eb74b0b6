// SPDX-License-Identifier: Apache-2.0
/*
 * Runs a program to its end beside the event loop, such as a proxy's check of its own configuration or a credential plugin: no shell, no
 * standard input, none of our descriptors, a process group of its own that is killed as a whole; bounded output, bounded time. Needs the
 * default loop, on which libev watches children. What it printed is wiped.
 */
#pragma once

#include "common/str.h"

#include <ev.h>
#include <stdbool.h>

enum { COMMAND_OUTPUT_MAX = 64 * 1024 };

struct command;

enum command_outcome {
	COMMAND_SUCCEEDED, /* exit status 0 */
	COMMAND_FAILED,    /* another exit status */
	COMMAND_KILLED, /* by somebody else, so the result is unknown; the output ends with the signal's number */
	COMMAND_TIMEOUT,   /* killed by us */
	COMMAND_UNSTARTED, /* it could not be started; `output` says why */
};

/* `output`: the first bytes of both streams, valid during the call. */
typedef void command_done(void *ctx, enum command_outcome outcome, struct str output);

/* argv ends in NULL; argv[0] is looked up in PATH unless it has a slash. on_done() is called from the loop, never from within. */
struct command *command_start(struct ev_loop *loop, char *const *argv, double timeout_s,
	command_done *on_done, void *ctx);
/* Kills it; on_done() is not called. Must not be called after on_done(). */
void command_cancel(struct command *command);

/* For a program whose output is read by us and whose errors by people: `env` NULL is ours. */
struct command_call {
	struct ev_loop *loop;
	char *const *argv;
	char **env;
	double timeout_s;
	size_t output_max;
	bool has_own_errors; /* standard error is no part of the output */
	command_done *on_done;
	void *ctx;
};
struct command *command_start_call(const struct command_call *call);
/* During on_done(): what it wrote to standard error of its own, where there is one. */
struct str command_errors(const struct command *command);
/* Its exit status, or the signal by which it was killed. */
int command_exit_status(const struct command *command);
/* Its output was longer than its limit. */
bool command_is_cut(const struct command *command);

// SPDX-License-Identifier: Apache-2.0
/*
 * Runs a program to its end beside the event loop, such as a proxy's check of its own configuration: no shell, bounded
 * output, bounded time. Needs the default loop, on which libev watches children.
 */
#pragma once

#include "common/str.h"

#include <ev.h>

enum { COMMAND_OUTPUT_MAX = 64 * 1024 };

struct command;

enum command_outcome {
	COMMAND_SUCCEEDED, /* exit status 0 */
	COMMAND_FAILED,    /* another exit status */
	COMMAND_KILLED, /* by somebody else, so the result is unknown; the output ends with the signal's number */
	COMMAND_TIMEOUT,   /* killed by us */
	COMMAND_UNSTARTED, /* it could not be started; `output` says why */
};

/* `output`: the first COMMAND_OUTPUT_MAX bytes of both streams, valid during the call. */
typedef void command_done(void *ctx, enum command_outcome outcome, struct str output);

/* argv ends in NULL; argv[0] is looked up in PATH unless it has a slash. on_done() is called from the loop, never from within. */
struct command *command_start(struct ev_loop *loop, char *const *argv, double timeout_s,
	command_done *on_done, void *ctx);
/* Kills it; on_done() is not called. Must not be called after on_done(). */
void command_cancel(struct command *command);

// SPDX-License-Identifier: Apache-2.0
/*
 * One interactive connection to HAProxy's stats socket (management guide, section 9.3). Commands are pipelined; answers come back in order,
 * each ended by a prompt, which is the only reliable end in HAProxy 2.6.
 *
 * Callbacks run from the loop. In all of them the connection may be closed.
 */
#pragma once

#include "common/str.h"

#include <ev.h>
#include <stdbool.h>

enum {
	CLI_IN_FLIGHT_MAX = 512, /* commands without an answer, after which there is no room */
	CLI_LINE_LEN_MAX =
		15 * 1024, /* with payload: HAProxy has to hold it in one buffer of 16 KiB */
	CLI_REPLY_LEN_MAX = 256 * 1024 * 1024,
	CLI_DEADLINE_S = 30, /* without any sign of an answer */
};

struct cli;

/* `command`: the beginning of what was sent, for messages; `reply`: without the prompt and without line ends around it. */
typedef void cli_reply(void *ctx, unsigned what, const char *command, struct str reply);

struct cli_ops {
	/* The answers have made room. */
	void (*on_room)(void *ctx);
	/* The connection was lost, or could not be made. Call cli_close(). */
	void (*on_lost)(void *ctx, const char *why);
};

/* Connects; NULL and a negative errno when nobody listens. */
struct cli *cli_open(
	struct ev_loop *loop, const char *path, const struct cli_ops *ops, void *ctx, int *ret_err);
void cli_close(struct cli *cli);

/* `line` has no line end; a payload follows in `payload` (absent: none) and must not contain empty lines. `what` and `ctx` are for the callback. */
void cli_send(struct cli *cli, struct str line, struct str payload, unsigned what,
	cli_reply *on_reply, void *ctx);
/* The next line of a reply; false: there is none. */
bool cli_next_line(struct str *rest, struct str *ret_line);
/* The next word of a line, whatever spaces are before it; empty: there is none. */
struct str cli_next_word(struct str *line);
bool cli_has_room(const struct cli *cli);
/* Commands without an answer. */
size_t cli_in_flight(const struct cli *cli);

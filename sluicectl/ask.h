// SPDX-License-Identifier: Apache-2.0
/* Requests to the admin servers of the programs of the line: HTTP over a Unix socket each (proto/ADMIN.md). Blocks until the answer. */
#pragma once

#include "common/buf.h"

enum ask_outcome {
	ASK_GOOD,
	ASK_NOT_FOUND, /* 404 */
	ASK_UNREADY,   /* 503: of /readyz */
	ASK_ENDED,     /* nobody listens at the socket, or there is none */
	ASK_AWAY,      /* we may not look in, or there was no answer in time */
	ASK_BAD,       /* another answer */
};

struct ask {
	const char *runtime_dir;
	double timeout_s;
};

enum {
	ASK_LEN_MAX = 1024 * 1024 * 1024,
	/* Where much may be collected: what is never written to costs nothing, growing is a copy each time. */
	ASK_ROOM_LEN = 16 * 1024 * 1024,
	ASK_PROGRAMS_MAX = 32,
	ASK_NAME_LEN_MAX = 64,
};

/* `program` is without "sluice-"; `target` is path and query. Appends the answer's body to `out`; *ret_problem (allocated) says what is wrong, or is the
 * text of the refusal. */
enum ask_outcome ask(const struct ask *question, const char *program, const char *target,
	struct buf *out, char **ret_problem);
/* Passes on the payload of each frame as it arrives, until on_frame() returns false or the other side ends. `is_endless`: no time limit for the answer. */
enum ask_outcome ask_frames(const struct ask *question, const char *program, const char *target,
	bool is_endless, bool (*on_frame)(void *ctx, struct str payload), void *ctx,
	char **ret_problem);
/* The programs that have an admin server in the folder, sorted; returns how many. */
size_t ask_programs(const struct ask *question, char (*ret_names)[ASK_NAME_LEN_MAX], size_t max);
/* Percent-encodes a text for a query; the caller frees it. */
char *ask_escape(const char *text);

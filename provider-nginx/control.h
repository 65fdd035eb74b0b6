// SPDX-License-Identifier: Apache-2.0
/*
 * The control socket of the running nginx (lua/sluice/control.lua), for querying its state and sending batches. One request at a time.
 */
#pragma once

#include "common/str.h"

#include <ev.h>
#include <stdbool.h>

struct control;

struct control_answer {
	long status; /* of HTTP; 0: none came, `problem` says why */
	uint64_t serial;
	uint64_t generation; /* of the configuration that it runs */
	uint64_t free;       /* bytes of the dictionary */
	uint64_t capacity;
	struct str late;     /* late_checks.h; lives as long as the answer; absent: none */
	const char *problem; /* "" or a few words */
};

typedef void control_done(void *ctx, const struct control_answer *answer);

/* The path is copied. */
struct control *control_new(struct ev_loop *loop, const char *socket_path);
void control_free(struct control *control);
/* From the next request on. The path is copied. */
void control_set_path(struct control *control, const char *socket_path);
/* Only while none is under way; done() is called from the loop, and may start the next one. The batch is not copied: it must stay as it is
 * until done(), or control_cancel(). */
void control_ask(struct control *control, control_done *done, void *ctx);
void control_send(struct control *control, struct str batch, control_done *done, void *ctx);
bool control_is_busy(const struct control *control);
/* done() is no longer called. */
void control_cancel(struct control *control);
/* For tests: the head of an answer with a Content-Length. -EAGAIN: more of it is needed; -EBADMSG: it is no such head. */
int control_read_head(
	struct str text, long *ret_status, size_t *ret_head_len, size_t *ret_body_len);
/* For tests: parses an answer, which is one line. False when it is not valid. */
bool control_read_answer(struct str line, struct control_answer *ret_answer);

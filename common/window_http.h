// SPDX-License-Identifier: Apache-2.0
/* HTTP of the window: heads of requests, taken apart as they arrive, and heads of answers. No input or output. */
#pragma once

#include "common/window.h"

#include <http_parser.h>
#include <time.h>

/* One request. */
struct window_head {
	http_parser parser;
	size_t len; /* of what was fed */
	char target[WINDOW_TARGET_LEN_MAX];
	size_t target_len;
	char accept[WINDOW_ACCEPT_LEN_MAX];
	size_t accept_len;
	char field[16]; /* the beginning of the name of a header */
	size_t field_len;
	bool is_in_value;
	bool is_complete;
	bool keeps_alive; /* the peer may send another request */
	int status;       /* of the refusal, when it is bad */
	const char *problem;
};

enum window_head_outcome { WINDOW_HEAD_PARTIAL, WINDOW_HEAD_READY, WINDOW_HEAD_BAD };

void window_head_init(struct window_head *head);
/* Feeds the next bytes; *ret_used says how many were this request's. Not to be called any more after READY, or BAD: `status` and `problem` then say
 * what to answer. */
enum window_head_outcome window_head_feed(
	struct window_head *head, struct str data, size_t *ret_used);
/* What a READY one asks for; the texts point into the head, or are empty. */
void window_head_request(const struct window_head *head, struct window_request *ret_request);
bool window_head_is_head(const struct window_head *head);
bool window_head_is_http_1_0(const struct window_head *head);

enum { WINDOW_LENGTH_CHUNKED = -1, WINDOW_LENGTH_CLOSE = -2 };

struct window_answer_head {
	int status;
	const char *content_type;
	int64_t length; /* of the body, or WINDOW_LENGTH_... */
	bool closes;    /* the connection ends with this answer */
	time_t now;
};

/* -EMSGSIZE: `out` has no room. */
[[nodiscard]] int window_print_head(struct buf *out, const struct window_answer_head *head);

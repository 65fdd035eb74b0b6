// SPDX-License-Identifier: Apache-2.0
/* HTTP of the admin server: parses heads of requests as they arrive, and prints heads of responses. No I/O. */
#pragma once

#include "common/admin_server.h"

#include <http_parser.h>
#include <time.h>

/* One request. */
struct admin_head {
	http_parser parser;
	size_t len; /* of what was fed so far */
	char target[ADMIN_TARGET_LEN_MAX];
	size_t target_len;
	char accept[ADMIN_ACCEPT_LEN_MAX];
	size_t accept_len;
	char host[ADMIN_HOST_LEN_MAX];
	size_t host_len;
	char site[ADMIN_SITE_LEN_MAX];
	size_t site_len;
	bool has_host;
	char field[16]; /* the beginning of the name of a header */
	size_t field_len;
	bool is_in_value;
	bool is_complete;
	bool keeps_alive; /* the peer may send another request */
	int status;       /* of the error response, if it is bad */
	const char *problem;
};

enum admin_head_outcome { ADMIN_HEAD_PARTIAL, ADMIN_HEAD_READY, ADMIN_HEAD_BAD };

void admin_head_init(struct admin_head *head);
/* Feeds the next bytes; *ret_used says how many belong to this request. Not to be called again after READY, or after BAD, when `status` and
 * `problem` say what to respond. */
enum admin_head_outcome admin_head_feed(struct admin_head *head, struct str data, size_t *ret_used);
/* The request of a READY head; the texts point into the head, or are empty. */
void admin_head_request(const struct admin_head *head, struct admin_request *ret_request);
bool admin_head_is_head(const struct admin_head *head);
bool admin_head_is_http_1_0(const struct admin_head *head);

enum { ADMIN_LENGTH_CHUNKED = -1, ADMIN_LENGTH_CLOSE = -2 };

struct admin_answer_head {
	int status;
	const char *content_type;
	int64_t length; /* of the body, or ADMIN_LENGTH_... */
	bool closes;    /* the connection ends with this answer */
	time_t now;
	const char *more; /* lines, each with CRLF; NULL: none */
};

/* -EMSGSIZE: no room in `out`. */
[[nodiscard]] int admin_print_head(struct buf *out, const struct admin_answer_head *head);

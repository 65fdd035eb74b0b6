// SPDX-License-Identifier: Apache-2.0
/* An HTTP server on the test's own loop that stands for AWS: it records each request, checks its signature, and gives the answers it was told. */
#pragma once

#include "aws_variables.h"

#include <ev.h>

enum { AWS_REQUESTS_MAX = 16 };

struct aws_request {
	char *text; /* head and body, NUL-terminated */
	const char *body;
	bool is_signed; /* with a signature of `signing_key` that is right */
};

struct aws_answer {
	const char *
		head; /* "403 Forbidden", and lines of headers each after a "\r\n"; NULL: the connection ends without an answer */
	const char *body;
};

extern struct aws_server {
	struct ev_loop *loop;
	int port;
	const char *signing_key;
	struct aws_request requests[AWS_REQUESTS_MAX];
	size_t count;
	struct aws_answer answers[AWS_REQUESTS_MAX]; /* to each request in the order of coming */
} aws_server;

void aws_server_start(struct ev_loop *loop);
void aws_server_stop(void);
/* Appends an answer. */
void aws_server_answer(const char *head, const char *body);
/* A header's value in a static buffer; NULL: none. */
const char *aws_request_header(size_t i, const char *name);
/* "http://127.0.0.1:PORT/PATH" in a static buffer. */
const char *aws_server_url(const char *path);
/* Runs the loop until the flag is set; fails after 20 s. */
void run_until(const bool *flag);

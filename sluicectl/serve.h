// SPDX-License-Identifier: Apache-2.0
/* What `serve` says over TCP for what a program has answered at its Unix socket. Fails closed: everything that is not an answer as a program of
 * ours gives it becomes a 503 with the reason in words, so that no probe takes a program for alive, or ready, which nobody has heard. No I/O. */
#pragma once

#include "common/buf.h"
#include "common/http.h"

enum {
	SERVE_TYPE_LEN_MAX = 127,    /* of a Content-Type that is handed on */
	SERVE_PROGRAM_LEN_MAX = 63,  /* of a program's name, without "sluice-" */
	SERVE_PROBLEM_LEN_MAX = 511, /* of what is said of it */
};

struct serve_answer {
	int status;
	bool is_heard;            /* the program itself has said this: */
	const char *content_type; /* of the result */
	struct str body;          /* of the result */
	/* It has not: why, a line without its end. */
	char problem[SERVE_PROBLEM_LEN_MAX + 1];
};

/* Lower case letters, digits and hyphens: a name of a socket, and no path. */
bool serve_is_program(const char *name);
/* *ret_answer points into the result. */
void serve_answer_make(
	const char *program, const struct http_result *result, struct serve_answer *ret_answer);

// SPDX-License-Identifier: Apache-2.0
/* What the tests of the HTTP client share: a loop, the server of http_server.py, and a record of what a request told. */
#pragma once

#include "common/http.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

enum { PORT_HTTP, PORT_HTTPS, PORT_HTTPS_WITH_CLIENT, PORT_COUNT };

extern struct world {
	struct ev_loop *loop;
	struct http *http;
	struct http *control; /* asks the server about itself, on connections of its own */
	int ports[PORT_COUNT];
	bool in_call; /* in a call of the client, where no callback may run */
	bool late;
	ev_timer limit;
	char *folder;
	int server_pid;
	int server_input;
} world;

struct answer {
	char url[512];
	struct http_request *request; /* NULL when it is done */
	bool done;
	unsigned heads;
	unsigned pieces;
	struct http_head head; /* as told by on_head */
	enum http_outcome outcome;
	long status;
	double retry_after_s;
	bool is_json;
	struct buf text; /* what came, in pieces or whole */
	char error[512];
	/* May be NULL; run at the end of the callback. */
	void (*on_head)(struct answer *answer);
	int (*on_data)(struct answer *answer);
	void (*on_done)(struct answer *answer);
};

int world_start(void **state);
int world_stop(void **state);
/* A client of its own for one test. */
void world_replace_http(unsigned connections_max);

void answer_fini(struct answer *answer);
/* A GET of a path of the plain server, whose answer is collected; the answer is reset. */
struct http_call call_of(struct answer *answer, int port, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* The same, but streamed. */
struct http_call stream_of(struct answer *answer, int port, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void start(struct http *http, const struct http_call *call);
void run(const struct http_call *call);
void cancel(struct answer *answer);
/* What the server answers to a path, by the control client. */
const char *ask(const char *format, ...) __attribute__((format(printf, 1, 2)));
struct str text_of(const struct answer *answer);
char *read_file(const char *name);
char *path_of(const char *name);

void wait_begin(double limit_s);
bool wait_more(void);

/* Runs the loop until the condition holds; fails after 20 s. */
#define WAIT_FOR(condition)                                 \
	do {                                                \
		wait_begin(20.);                            \
		while (!(condition)) {                      \
			if (!wait_more())                   \
				fail_msg("%s", #condition); \
		}                                           \
	} while (0)

/* Runs the loop for a while: the only way to see that something does not happen. */
void run_for(double seconds);

/* Puts a call of the client where callbacks would be noticed. */
#define CALL(expression)                  \
	do {                              \
		bool was = world.in_call; \
		world.in_call = true;     \
		expression;               \
		world.in_call = was;      \
	} while (0)

// SPDX-License-Identifier: Apache-2.0
/*
 * A client that sends nothing: keeps the calls that were begun, the oldest first, and ends each as a test says. Also a clock that goes ahead when a test
 * says so. Included once in a program.
 */
#pragma once

#include "common/json.h"
#include "common/xalloc.h"
#include "provider-elb/call.h"

#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct client_call {
	struct client_request request;
	char *body;
	char *path;
	struct client_call *next;
};

static struct {
	struct client_call *first;
	char log[64 * 1024]; /* actions of all calls that were begun, with a space behind each */
} fake;

static double clock_ahead_s;

[[gnu::visibility("default")]] int clock_gettime(clockid_t id, struct timespec *ret_time)
{
	long result = syscall(SYS_clock_gettime, id, ret_time);
	ret_time->tv_sec += (time_t)clock_ahead_s;
	return (int)result;
}

struct client_call *client_start(struct client *client, const struct client_request *request)
{
	struct client_call *call = xcalloc(1, sizeof(*call));
	struct client_call **at = &fake.first;
	size_t len = strlen(fake.log);
	while (*at != NULL)
		at = &(*at)->next;
	*at = call;
	call->request = *request;
	call->body = str_dup(request->body);
	/* As the real one, which has put it into the URL by now. */
	call->path = str_dup(request->path);
	call->request.path = str_from(call->path);
	snprintf(fake.log + len, sizeof(fake.log) - len, "%s ", request->action);
	return call;
}

void client_cancel(struct client_call *call)
{
	struct client_call **at = &fake.first;
	while (*at != call)
		at = &(*at)->next;
	*at = call->next;
	free(call->body);
	free(call->path);
	free(call);
}

/* The action of the oldest call under way; "": there is none. */
static inline const char *fake_action(void)
{
	return fake.first != NULL ? fake.first->request.action : "";
}

/* Whether its body has this in it. */
static inline bool fake_asks(const char *part)
{
	return fake.first != NULL && strstr(fake.first->body, part) != NULL;
}

static inline void fake_end(const struct client_answer *answer)
{
	struct client_call *call = fake.first;
	fake.first = call->next;
	call->request.on_done(call->request.ctx, answer);
	free(call->body);
	free(call->path);
	free(call);
}

/* What the "...Result" holds. */
static inline void fake_answer(const char *result)
{
	struct client_answer answer = {.retry_after_s = -1};
	struct arena arena;
	const char *problem;
	arena_init(&arena);
	struct str text = arena_printf(&arena, "<R><XResult>%s</XResult></R>", result);
	answer.xml = xml_parse(text, &arena, &problem);
	fake_end(&answer);
	arena_fini(&arena);
}

/* The whole document. */
static inline void fake_answer_xml(const char *text)
{
	struct client_answer answer = {.retry_after_s = -1};
	struct arena arena;
	const char *problem;
	arena_init(&arena);
	answer.xml = xml_parse(str_from(text), &arena, &problem);
	fake_end(&answer);
	arena_fini(&arena);
}

static inline void fake_answer_json(const char *text)
{
	struct json *json = json_parse(str_from(text), NULL, NULL);
	struct client_answer answer = {.retry_after_s = -1, .json = json};
	fake_end(&answer);
	json_free(json);
}

static inline void fake_fail(enum aws_outcome outcome, bool is_unknown)
{
	struct client_answer answer = {.outcome = outcome,
		.is_unknown = is_unknown,
		.message = STR("AWS says no"),
		.retry_after_s = -1};
	fake_end(&answer);
}

static inline void fake_clear_log(void)
{
	fake.log[0] = '\0';
}

static inline void fake_run(struct ev_loop *loop)
{
	for (int i = 0; i < 5; i++)
		ev_run(loop, EVRUN_NOWAIT);
}

static inline void fake_wait(struct ev_loop *loop, double seconds)
{
	clock_ahead_s += seconds;
	fake_run(loop);
}

/* ---- a queue in which nobody waits ---- */

struct calls {
	struct ev_loop *loop;
	struct call_context context;
	bool is_closed; /* writes wait */
};

static bool calls_are_open(void *ctx)
{
	return !((struct calls *)ctx)->is_closed;
}

static void calls_outage(void *ctx, const char *reason)
{
}

static inline void calls_init(struct calls *calls)
{
	struct call_queue_config config = {.parallel_max = 8, .on_outage = calls_outage};
	*calls = (struct calls){.loop = ev_loop_new(EVFLAG_AUTO)};
	config.loop = calls->loop;
	for (size_t i = 0; i < CALL_CLASS_COUNT; i++)
		config.rates[i] = (struct call_rate){.per_s = 1000, .burst = 1000};
	calls->context.loop = calls->loop;
	calls->context.queue = call_queue_new(&config);
	call_queue_set_gate(calls->context.queue, calls_are_open, calls);
	fake_clear_log();
}

static inline void calls_fini(struct calls *calls)
{
	call_queue_free(calls->context.queue);
	ev_loop_destroy(calls->loop);
}

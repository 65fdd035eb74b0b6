// SPDX-License-Identifier: Apache-2.0
/*
 * Threads for checks that take up to seconds, such as those of passwords, which do so on purpose: neither the loop nor the proxy waits for them. They are started
 * with the first question, and yield to everything else on the machine. Lists share them: one whose checks are slow, or are asked for without end, does not keep
 * those of another from their turn.
 */
#pragma once

#include "common/str.h"

#include <ev.h>

enum {
	CHECK_THREADS = 2,
	CHECKS_WAITING_MAX = 256, /* questions, with those that are being answered */
	CHECK_ANSWER_LEN_MAX = 9 * 1024,
};

struct check_threads;
struct check_job;

/* In a thread: what is asked, and what is said to that; the length of the answer, which may be CHECK_ANSWER_LEN_MAX. It changes nothing else. */
typedef size_t check_work(struct str question, char *ret_answer);
typedef void check_answer(void *ctx, struct str answer);

struct check_threads *check_threads_new(struct ev_loop *loop, check_work *work);
/* Whoever waits gets no answer. Does not wait for checks that are under way: their threads end by themselves. */
void check_threads_free(struct check_threads *threads);
/* `list`: whose checks take turns with those of others. Texts are copied. `on_answer` is called from the loop. NULL: too many are waiting, or no thread can be
 * started. */
struct check_job *check_threads_ask(struct check_threads *threads, struct str list,
	struct str question, check_answer *on_answer, void *ctx);
/* Nobody wants the answer any more; before it came. */
void check_job_forget(struct check_job *job);

// SPDX-License-Identifier: Apache-2.0
/*
 * Threads that check passwords, which takes up to seconds on purpose, so that neither the loop nor the proxy waits for it. They are started with the first
 * question, and yield to everything else on the machine. Lists of users share them: one whose checks are slow, or are asked for without end, does not keep
 * those of another from their turn.
 */
#pragma once

#include "common/str.h"

#include <ev.h>

enum {
	PASSWORD_THREADS = 2,
	PASSWORD_WAITING_MAX = 256, /* questions, with those that are being answered */
};

struct password_threads;
struct password_job;

struct password_question {
	struct str list; /* whose users: any word */
	struct str hash;
	struct str password;
};

typedef void password_answer(void *ctx, bool fits);

struct password_threads *password_threads_new(struct ev_loop *loop);
/* Whoever waits gets no answer. Does not wait for checks that are under way: their threads end by themselves. */
void password_threads_free(struct password_threads *threads);
/* Texts are copied. `on_answer` is called from the loop. NULL: too many are waiting, or no thread can be started. */
struct password_job *password_threads_ask(struct password_threads *threads,
	const struct password_question *question, password_answer *on_answer, void *ctx);
/* Nobody wants the answer any more; before it came. */
void password_job_forget(struct password_job *job);

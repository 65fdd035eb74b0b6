// SPDX-License-Identifier: Apache-2.0
/*
 * The proxy as a supervised child. It outlives us: when this process dies the proxy goes on serving, and the next process finds it
 * again by the pid file (pid and start time, so that a reused pid is not mistaken; one that has been told to end is not taken up). When the proxy dies it is started again, with back-off.
 *
 *   DOWN --start--> UP --exit--> WAITING --back-off--> UP
 *
 * What it writes to its streams goes to a log file of bounded size, of which child_last_words() gives the end.
 */
#pragma once

#include "common/str.h"

#include <ev.h>
#include <stdbool.h>
#include <sys/types.h>

struct child;

struct child_ops {
	/* Before each start; fill the command line (argv ends in NULL, good until the next call). NULL: not now, child_start() will be
	 * called again. */
	char *const *(*command)(void *ctx);
	/* It runs: just started, or found running (is_found). */
	void (*on_up)(void *ctx, bool is_found);
	/* It ended by itself; it is started again after `again_s` seconds. */
	void (*on_down)(void *ctx, const char *why, double again_s);
	/* The proxy's process as its own socket tells it, for when the pid file is lost; 0: nobody listens. May be NULL. */
	pid_t (*find)(void *ctx);
};

struct child_config {
	struct ev_loop *loop; /* the default one */
	const char *pid_file; /* copied, as the next */
	/* Where a proxy that was started without --proxy-dir has its pid; NULL: nowhere else. */
	const char *former_pid_file;
	const char *log_file; /* its output */
	int end_signal;       /* takes no more connections, finishes those that it has, and ends */
	/* Name that a process found by the pid file must have (/proc/PID/comm). */
	const char *executable;
	const struct child_ops *ops;
	void *ctx;
};

struct child *child_new(const struct child_config *config);
/* Leaves a running proxy alone. */
void child_free(struct child *child);

/* Finds the one that runs, else starts it, now: what is said by calling this is that it can be started. */
void child_start(struct child *child);
/*
 * Has it finish what is under way and waits for its end; on_down() is not called, and it is not started again. The loop runs meanwhile, so
 * nothing else of us may be in it. False: after `limit_s` seconds, or when the loop was broken from outside, it was ended with SIGTERM.
 */
bool child_drain(struct child *child, double limit_s);
/* It has ended, and is started again by itself. */
bool child_is_waiting(const struct child *child);
/* 0 or a negative errno. */
int child_signal(struct child *child, int signal);
/* Ends it and its children at once: it answers nobody. It counts as ended by itself. */
void child_kill(struct child *child);
/* 0 when it does not run. */
pid_t child_pid(const struct child *child);
/* It works: the next failure is the first one for the back-off. */
void child_is_well(struct child *child);
/* The end of what it wrote since its start, in one line; the caller frees it. */
char *child_last_words(const struct child *child);

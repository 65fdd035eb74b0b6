// SPDX-License-Identifier: Apache-2.0
/*
 * Runs a program on the loop and collects what it prints: nothing blocks, and its time and output are bounded. It gets no standard input
 * (ours may carry the token), none of our descriptors, and a process group of its own, all of which is killed when its time is up.
 */
#pragma once

#include "common/str.h"

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>

struct exec_plugin;

struct exec_plugin_call {
	struct ev_loop *loop; /* the default loop: no other receives the ends of children */
	const char *command;
	char *const *args;
	size_t arg_count;
	char *const *env; /* "NAME=value", beside our own environment */
	size_t env_count;
	const char *info; /* the value of KUBERNETES_EXEC_INFO */
	double timeout_s;
	size_t output_max;
	/* Once, from the loop; the plugin is freed afterwards. `problem` NULL: it ended with exit code 0, `output` is what it printed;
	 * else what went wrong, with the beginning of its error output in `output`. */
	void (*on_done)(void *ctx, const char *problem, struct str output);
	void *ctx;
};

/* NULL: it could not be started, *ret_err is a negative errno. All of `call` is copied where needed. */
struct exec_plugin *exec_plugin_start(const struct exec_plugin_call *call, int *ret_err);
/* Kills it; on_done() is not called. */
void exec_plugin_cancel(struct exec_plugin *plugin);

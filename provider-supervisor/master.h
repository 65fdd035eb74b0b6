// SPDX-License-Identifier: Apache-2.0
/*
 * The proxy: a master process with workers. It outlives us: when this process is killed the proxy goes on serving, and our successor finds
 * it by the pid file (pid and start time, so that a reused pid is not mistaken for it), by its own socket, or by its command line. One that
 * has been told to end is not adopted. When the master dies its workers are drained (orphans.h) and it is restarted.
 *
 *   DOWN --start--> UP --ends--> WAITING --back-off, no orphan serves--> UP
 *                   UP --drain--> DRAINING --ends--> DOWN
 */
#pragma once

#include "provider-supervisor/kind.h"
#include "provider-supervisor/listeners.h"

#include <ev.h>

struct master;

struct master_ops {
	/* It is about to be started: put the listening sockets that it gets into the list, which is empty and is taken over. */
	void (*on_launch)(void *ctx, struct listeners *listeners);
	/* It runs: just started, or found running. `dir`: where its sockets are. */
	void (*on_up)(void *ctx, pid_t pid, bool is_found, const char *dir);
	/* It ended by itself; it is restarted after about `again_s` seconds. */
	void (*on_down)(void *ctx, const char *why, double again_s);
};

struct master_config {
	struct ev_loop *loop; /* the default one */
	const struct kind *kind;
	struct kind_folders folders; /* kept */
	const struct master_ops *ops;
	void *ctx;
};

struct master *master_new(const struct master_config *config);
/* Leaves a running proxy alone. */
void master_free(struct master *master);

/* Finds a running one, else starts it if there is a configuration. `is_urgent` cuts a current back-off short. */
void master_start(struct master *master, bool is_urgent);
/* Finds a running one, and starts none. */
bool master_find(struct master *master);
/* There are files to start from. */
bool master_has_configuration(const struct master *master);
/*
 * Drains it and waits for its end; on_down() is not called, and it is not restarted. The loop runs meanwhile. After `limit_s` seconds, or when
 * the loop was broken from outside, it is sent SIGTERM.
 */
void master_drain(struct master *master, double limit_s);
/* Kills it with all its workers, because it hangs; it is restarted as after any other end. */
void master_replace(struct master *master);
/* 0 or a negative errno, -ESRCH when it does not run. */
int master_reload(struct master *master);
/* Its listening sockets of TCP; the caller calls listeners_fini(). 0 or a negative errno. */
int master_listeners(const struct master *master, struct listeners *ret_listeners);
/* It works: resets the back-off. */
void master_is_well(struct master *master);

/* 0: it does not run. */
pid_t master_pid(const struct master *master);
/* It was started by an earlier supervisor, or by somebody else. */
bool master_is_adopted(const struct master *master);
/* Where its sockets are. */
const char *master_dir(const struct master *master);

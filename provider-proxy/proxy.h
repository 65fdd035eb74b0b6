// SPDX-License-Identifier: Apache-2.0
/*
 * The proxy as a provider sees it: through its supervisor (provider-supervisor/README.md), which starts it, restarts it when it dies, and
 * outlives us. If there is no supervisor yet, and starting one is our job, sluice-proxy is started and left to run on its own.
 *
 *   unknown --none--> DOWN --up--> UP --down--> DOWN
 *
 * Losing the supervisor says nothing about the proxy, which goes on serving: the state stays until the next supervisor reports.
 */
#pragma once

#include "common/command.h"
#include "common/str.h"
#include "provider-proxy/ports.h"

#include <ev.h>
#include <stdbool.h>
#include <sys/types.h>

struct local;
struct proxy;

enum proxy_origin {
	PROXY_STARTED, /* just now */
	PROXY_RUNNING, /* before we came, by this supervisor */
	PROXY_FOUND, /* by an earlier supervisor, or by a provider from a version without supervisor */
};

struct proxy_ops {
	/* It runs. `dir`: where its sockets are, if its command line says so. */
	void (*on_up)(void *ctx, enum proxy_origin origin, const char *dir);
	/* It ended by itself; it is restarted after about `again_s` seconds, from the files as they are then. `words`: the end of its output. */
	void (*on_down)(void *ctx, const char *why, const char *words, double again_s);
	/* Its supervisor is there, and it does not run. */
	void (*on_none)(void *ctx);
	/* There is no supervisor, and not for the first time. */
	void (*on_unreachable)(void *ctx, const char *socket);
	/* How many workers take connections, as asked by proxy_count_workers(). May be NULL. */
	void (*on_workers)(void *ctx, size_t taking);
};

struct proxy_config {
	struct ev_loop *loop;
	const char *kind; /* "haproxy" or "nginx"; as the next, kept */
	const char *program;
	const char *supervisor; /* sluice-proxy; NULL: others start it */
	const char *state_dir;
	const char *proxy_dir;
	const char *
		take_over; /* the folder of a proxy to take over from, if it is there; may be NULL */
	const char *access_log_to; /* as the option; NULL: there is no access log */
	struct local *local;       /* notified when another proxy takes over */
	const struct proxy_ops *ops;
	void *ctx;
};

struct proxy *proxy_new(const struct proxy_config *config);
/* Leaves a running proxy alone. */
void proxy_free(struct proxy *proxy);

/* At start-up: starts it from the existing files, whatever their age, unless it is to take over from another proxy that serves. */
void proxy_start_from_files(struct proxy *proxy);
/* Where it will listen, or listens already, with sockets of the proxy that it takes over from: no other program has those. */
const struct socket_list *proxy_inherited(struct proxy *proxy);
/* It serves what is wanted on `ports`: the proxy that it takes over from can end if it had any of these, and is left alone if it had none. */
void proxy_serves(struct proxy *proxy, const struct ports *ports);
/* Starts it, now that there are files to start from. */
void proxy_start(struct proxy *proxy);
/* Asks it to reload its files, without losing a connection. 0, or -ESRCH when it does not run, or -ENOTCONN when there is no supervisor. */
int proxy_reload(struct proxy *proxy);
/* Has it check the candidate configuration; on_done() is called from the loop, as for a command (common/command.h). One check at a time. */
void proxy_check(struct proxy *proxy, double timeout_s, command_done *on_done, void *ctx);
/* on_done() is no longer called. */
void proxy_cancel_check(struct proxy *proxy);
/* Kills it with all its workers, because it hangs; it is restarted. */
void proxy_replace(struct proxy *proxy);
/* It works: resets the back-off. */
void proxy_is_well(struct proxy *proxy);
void proxy_count_workers(struct proxy *proxy);
/*
 * Drains it and ends its supervisor; nothing of proxy_ops is called any more. The loop runs meanwhile, so nothing else of ours may be in it. False: connections were cut, after
 * `limit_s` seconds or because the loop was broken from outside.
 */
bool proxy_stop(struct proxy *proxy, double limit_s);

/* 0: it does not run, or that is not known. In the supervisor's PID namespace, which in a pod is not ours: for people to read. */
pid_t proxy_pid(const struct proxy *proxy);
bool proxy_is_up(const struct proxy *proxy);
/* It was to be started, and the result has not been reported yet. */
bool proxy_is_starting(const struct proxy *proxy);
/* A supervisor has reported at least once whether it runs. */
bool proxy_is_known(const struct proxy *proxy);
/* The last lines of its output since its start, in one line that a message has room for; valid until the next event. */
const char *proxy_last_output(const struct proxy *proxy);

// SPDX-License-Identifier: Apache-2.0
/*
 * The proxy as a provider sees it: through its supervisor (provider-supervisor/README.md), which starts it, starts it again when it dies, and
 * outlives us. Where nobody supervises the proxy yet, and it is not for others to do, sluice-proxy is started and left to itself.
 *
 *   unknown --none--> DOWN --up--> UP --down--> DOWN
 *
 * A supervisor that is lost says nothing of the proxy, which goes on serving: it stays as it was until the next one tells.
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
	PROXY_FOUND, /* by another life of the supervisor, or by a provider of a version that had none */
};

struct proxy_ops {
	/* It runs. `dir`: where its sockets are, as far as its command line says. */
	void (*on_up)(void *ctx, enum proxy_origin origin, const char *dir);
	/* It ended by itself; it is started again after about `again_s` seconds, from the files as they are then. `words`: the end of what it wrote. */
	void (*on_down)(void *ctx, const char *why, const char *words, double again_s);
	/* Its supervisor is there, and it does not run. */
	void (*on_none)(void *ctx);
	/* There is no supervisor, and it is not the first time that none was found. */
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
		take_over; /* the folder of a proxy whose place it takes, if it is there; may be NULL */
	struct local *local; /* is told when another proxy takes its place */
	const struct proxy_ops *ops;
	void *ctx;
};

struct proxy *proxy_new(const struct proxy_config *config);
/* Leaves a running proxy alone. */
void proxy_free(struct proxy *proxy);

/* At the beginning: has it run from the files that are there, whatever their age, unless another proxy serves whose place it is to take. */
void proxy_start_from_files(struct proxy *proxy);
/* Where it will listen, or listens already, with sockets of the proxy whose place it takes: nobody else has those. */
const struct socket_list *proxy_inherited(struct proxy *proxy);
/* It serves what is wanted on `ports`: the proxy whose place it takes can go if any of these was its, and is left alone if none was. */
void proxy_serves(struct proxy *proxy, const struct ports *ports);
/* Has it run, now that there are files to start from. */
void proxy_start(struct proxy *proxy);
/* Asks it to load its files anew, without losing a connection. 0, or -ESRCH when it does not run, or -ENOTCONN when nobody can ask it. */
int proxy_reload(struct proxy *proxy);
/* Has it look at the candidate that was written; on_done() is called from the loop, as for a command (common/command.h). One check at a time. */
void proxy_check(struct proxy *proxy, double timeout_s, command_done *on_done, void *ctx);
/* on_done() is not called any more. */
void proxy_cancel_check(struct proxy *proxy);
/* Kills it with all its workers, because it hangs; it is started again. */
void proxy_replace(struct proxy *proxy);
/* It works: the next failure is the first one for the back-off. */
void proxy_is_well(struct proxy *proxy);
void proxy_count_workers(struct proxy *proxy);
/*
 * Has it finish what is under way, and its supervisor end. The loop runs meanwhile, so nothing else of us may be in it. False: after
 * `limit_s` seconds, or when the loop was broken from outside, connections were cut.
 */
bool proxy_stop(struct proxy *proxy, double limit_s);

/* 0: it does not run, or nobody has told. In the supervisor's own numbers, which in a pod are not ours: for people. */
pid_t proxy_pid(const struct proxy *proxy);
bool proxy_is_up(const struct proxy *proxy);
/* It was to be started, and nobody has told yet what became of that. */
bool proxy_is_starting(const struct proxy *proxy);
/* Its supervisor has told, once, whether it runs. */
bool proxy_is_known(const struct proxy *proxy);
/* The end of what it wrote since its start, in one line; good until the next event. */
const char *proxy_last_output(const struct proxy *proxy);

// SPDX-License-Identifier: Apache-2.0
/*
 * The skeleton of every process: options, log, signals, readiness, loop, stop. A process fills a
 * struct daemon_spec and calls daemon_main() from main().
 *
 * Signals mean the same whoever started it: SIGTERM and SIGINT end it, SIGHUP has it read again what can be; what was blocked or ignored
 * before is not.
 *
 * Exit codes: 0 asked to stop; 1 failed at run time (the supervisor should restart it); 2 wrong
 * usage (it should not).
 *
 * With a service manager that sets NOTIFY_SOCKET (sd_notify(3)), READY=1 is sent when the process
 * has started: it then watches itself, and with WATCHDOG_USEC the event loop feeds the watchdog, also
 * while a neighbour is away. STATUS= says in words what the process waits for.
 *
 * The admin server has /healthz, which is answered as long as the loop turns, whatever becomes of the
 * neighbours, /readyz, which says what is missing until everything is there, /metrics (metrics.h), and on the Unix socket /about (proto/ADMIN.md).
 */
#pragma once

#include "common/options.h"
#include "common/sandbox.h"
#include "common/admin_server.h"

#include <ev.h>
#include <stdbool.h>

enum { DAEMON_EXIT_FAILURE = 1, DAEMON_EXIT_USAGE = 2 };

struct daemon_options {
	char *runtime_dir;
	int log_level;
	int log_format;
	int sandbox; /* enum sandbox_mode */
	char *admin_address;
	char *admin_dir;
	struct option_list admin_uids;
};

struct daemon;

struct daemon_spec {
	const struct option_table *options;
	size_t common_offset; /* of struct daemon_options in the configuration */
	/* Of the admin server, where the options name none. NULL: the process has no network, and does not start with a socket of it. */
	const char *admin_port;
	/* Sets the process up. NULL, or what is wrong in words for a person (allocated, freed by
	 * the caller); wrong usage is told by *ret_usage = true. */
	char *(*start)(struct daemon *daemon, void *config, bool *ret_usage);
	/* Orderly end: says bye, frees everything. Traffic and statuses stay as they are. */
	void (*stop)(void);
	/* SIGHUP: read again what can be; NULL: nothing. */
	void (*reload)(void);
	/* Options may ask for a filter in place of a daemon: it reads, writes and ends, without loop, signals or admin server, and what would be logged is
	 * told nobody. NULL, or what is wrong, as of start(). Both NULL: there is none. */
	bool (*is_filter)(const void *config);
	char *(*filter)(const void *config, bool *ret_usage);
};

/* `config` is of spec->options->config_size. Returns the exit code. */
int daemon_main(const struct daemon_spec *spec, void *config, int argc, char **argv);

struct ev_loop *daemon_loop(struct daemon *daemon);
/* Ends the process in an orderly way, as a failure: whoever supervises it starts it again. To be called from the loop; the reason was logged. */
void daemon_fail(struct daemon *daemon);
bool daemon_has_failed(const struct daemon *daemon);
/* To be called by start() when files are read and listeners open, and before anything is connected or a thread started. Takes the
 * sandbox. NULL, or what is wrong in words (allocated). */
char *daemon_confine(struct daemon *daemon, struct sandbox *sandbox);
/* The admin server of the process, open from before start() to before stop(). /healthz, /readyz and /metrics are there already. */
struct admin_server *daemon_admin(struct daemon *daemon);
/* Says what readiness waits for, a line each thing ("secret (403 from the API server)"), or with NULL that it waits for
 * nothing. Logged when it changes. */
void daemon_set_missing(struct daemon *daemon, const char *missing);
/* What else there is to say of readiness to those who look, ready or not: a line each thing, made when it is asked for. */
void daemon_describe_with(
	struct daemon *daemon, void (*describe)(void *ctx, struct buf *out), void *ctx);
/* runtime_dir/name; the caller frees it. */
char *daemon_runtime_path(const struct daemon_options *options, const char *name);

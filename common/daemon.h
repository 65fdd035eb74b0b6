// SPDX-License-Identifier: Apache-2.0
/*
 * The skeleton of every process: options, log, signals, readiness, loop, stop. A process fills a
 * struct daemon_spec and calls daemon_main() from main().
 *
 * Signals mean the same whoever started it: SIGTERM and SIGINT end it, SIGHUP makes it reload what can be reloaded; an inherited signal mask or
 * ignored signals are reset.
 *
 * Exit codes: 0 asked to stop; 1 failed at run time (the supervisor should restart it); 2 wrong
 * usage (it should not).
 *
 * With a service manager that sets NOTIFY_SOCKET (sd_notify(3)), READY=1 is sent when the process has started: it then watches itself, and with
 * WATCHDOG_USEC the event loop feeds the watchdog, also while a neighbour is disconnected. STATUS= says in words what the process waits for.
 *
 * The admin server has /healthz, which answers as long as the loop runs, whatever the state of the neighbours, /readyz, which lists what is
 * missing until the process is ready, /metrics (metrics.h), and on the Unix socket /about (proto/ADMIN.md).
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
	/* The admin server's default TCP port. NULL: the process has no network access, and refuses to start with a network socket. */
	const char *admin_port;
	/* Sets the process up. NULL, or an error message (allocated, freed by the caller);
	 * *ret_usage = true for wrong usage. */
	char *(*start)(struct daemon *daemon, void *config, bool *ret_usage);
	/* Orderly shutdown: sends bye, frees everything. Traffic and statuses stay as they are. */
	void (*stop)(void);
	/* SIGHUP: reload what can be reloaded; NULL: nothing. */
	void (*reload)(void);
	/* Options may ask for a filter instead of a daemon: it reads, writes and ends, without loop, signals or admin server, and logs nothing.
	 * Returns NULL or an error message, like start(). Both NULL: there is no filter. Each is given `filter_ctx`. */
	bool (*is_filter)(const void *ctx, const void *config);
	char *(*filter)(const void *ctx, void *config, bool *ret_usage);
	const void *filter_ctx;
};

/* `config` is of spec->options->config_size. Returns the exit code. */
int daemon_main(const struct daemon_spec *spec, void *config, int argc, char **argv);

struct ev_loop *daemon_loop(struct daemon *daemon);
/* Shuts the process down in order, but with exit code 1, so that the supervisor restarts it. Call it from the loop, after logging the reason. */
void daemon_fail(struct daemon *daemon);
bool daemon_has_failed(const struct daemon *daemon);
/* To be called by start() once files are read and listeners open, before anything connects or a thread starts. Takes ownership of
 * the sandbox. NULL, or an error message (allocated). */
char *daemon_confine(struct daemon *daemon, struct sandbox *sandbox);
/* The admin server of the process, open from before start() to before stop(). /healthz, /readyz and /metrics exist already. */
struct admin_server *daemon_admin(struct daemon *daemon);
/* Sets what readiness waits for, one line per item ("secret (403 from the API server)"); NULL: nothing. Changes are
 * logged. */
void daemon_set_missing(struct daemon *daemon, const char *missing);
/* Adds lines to the answer of /readyz, ready or not; `describe` is called for each request. */
void daemon_describe_with(
	struct daemon *daemon, void (*describe)(void *ctx, struct buf *out), void *ctx);
/* runtime_dir/name; the caller frees it. */
char *daemon_runtime_path(const struct daemon_options *options, const char *name);

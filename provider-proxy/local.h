// SPDX-License-Identifier: Apache-2.0
/*
 * What the providers with a proxy on this machine have in common: options (local.def), the link with its capabilities, rows, routes,
 * notices, addresses, and what is said of each load balancer. A provider fills struct local_ops, calls local_start() from its
 * daemon's start(), and says local_applied() or local_failed() when it knows what became of a commit.
 */
#pragma once

#include "common/daemon.h"
#include "common/egress.h"
#include "provider-common/provider.h"
#include "provider-proxy/destinations.h"
#include "provider-proxy/unserved.h"
#include "provider-proxy/notices.h"
#include "provider-proxy/publish.h"
#include "provider-proxy/routes.h"
#include "provider-proxy/rows.h"

enum { LOCAL_PATHS_MAX = 4 };

/* The first member of a provider's configuration, called `local`. */
struct local_options {
	struct daemon_options common;
	char *state_dir;
	char *proxy_dir; /* NULL: the state folder, see local_proxy_dir() */
	struct option_list bind_addresses;
	struct option_list publish_addresses;
	struct option_list dns_servers;
	struct egress_options egress;
	bool stop_proxy;
	double stop_timeout;
	char *take_over; /* NULL: no proxy */
	double check_timeout;
	double proxy_timeout;
	double reload_interval_max;
	char *supervisor; /* NULL: sluice-proxy beside this program */
	bool start_supervisor;
};

struct local;

struct local_ops {
	/* Rows and notices are up to date with the commit; apply it. */
	void (*on_commit)(void *ctx, const struct state_commit *commit);
	void (*on_link)(void *ctx, bool is_up); /* may be NULL */
	/* A certificate that the proxy would refuse comes in the place of none that is known: it is kept from on_commit(), which then sees one without
	 * content. Else on_commit() sees it, and the proxy has to say what it thinks. */
	bool drops_unusable;
	/* The addresses of a pool's host name are others: to be done as when it is changed by a commit. */
	void (*on_pool)(void *ctx, struct object *pool);
};

struct local_config {
	struct daemon *daemon;
	const struct local_options *options;
	const char *name;     /* "haproxy" */
	const char *software; /* "sluice-provider-haproxy 0.1.0" */
	/* Programs and folders that the proxy needs outside the system's folders; the rest is NULL. */
	const char *proxy[LOCAL_PATHS_MAX];
	mode_t folder_mode; /* of both folders; what is in them serves while we start, so it is right from the first moment */
	const struct local_ops *ops;
	void *ctx;
};

/* Makes both folders, then enters the sandbox. NULL and *ret_problem in words (allocated); *ret_usage: an option is wrong. */
struct local *local_start(const struct local_config *config, char **ret_problem, bool *ret_usage);
/* Says bye. Traffic goes on. */
void local_free(struct local *local);

/* The state folder was not there when local_start() made it: a proxy that runs was started with another one, and its sandbox knows only that. */
bool local_has_new_folder(const struct local *local);
/* The state folder is gone, and cannot be made again from within the sandbox: the program ends, and whoever starts it again gives it another. The
 * proxy goes on serving, also with --stop-proxy. */
void local_end_without_folder(struct local *local);

/* The folder of the proxy's sockets is there, or was made again. False: it is not; where the sandbox is the reason the program ends as above. */
bool local_keep_proxy_folder(struct local *local);

struct state *local_state(struct local *local);
struct rows *local_rows(struct local *local);
struct routes *local_routes(struct local *local);
/* Every pool that is looked at goes through externals_settle() first, or externals_drop(). */
struct externals *local_externals(struct local *local);
struct notices *local_notices(struct local *local);
const struct publish *local_publish(struct local *local);
struct ev_loop *local_loop(struct local *local);
/* state_dir/name; the caller frees it. */
char *local_path(const struct local *local, const char *name);
/* Where the proxy's sockets are, its pid file, and its words: what has to be written for it to start, which must not need the disk. */
const char *local_proxy_dir(const struct local_options *options);
/* Likewise below that folder. */
char *local_proxy_path(const struct local *local, const char *name);
/* The program to be started where nobody supervises the proxy; NULL: others start it. */
const char *local_supervisor(const struct local *local);

/* The provider of another proxy, which takes the place of ours, needs the translator: it is left alone for so long. */
void local_yield(struct local *local, double seconds);
/* Another proxy, of the kind `by`, serves in the place of ours, which drains: the program ends, as when it is asked to stop. */
void local_be_taken(struct local *local, const char *by);

/* All that was committed is in force, in the proxy and on disk. */
void local_applied(struct local *local);
/* Not yet, and why: NULL for no particular reason. */
void local_pending(struct local *local, const char *why);
/* It cannot be done now, and is tried again. Both texts are copied and become the status' message. */
void local_failed(struct local *local, const char *why);
/* What the proxy is to listen on, after ports_probe(): what cannot be served is told. What can be again is told with
 * local_applied(), when it is served. */
void local_set_ports(struct local *local, const struct ports *ports);
/* What readiness waits for beside the first snapshot; NULL: nothing. */
void local_set_missing(struct local *local, const char *missing);

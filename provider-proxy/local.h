// SPDX-License-Identifier: Apache-2.0
/*
 * What the providers with a proxy on this machine have in common: options (local.def), the link with its capabilities, rows, routes,
 * notices, addresses, and the status of each load balancer. A provider fills struct local_ops, calls local_start() from its daemon's
 * start(), and calls local_applied() or local_failed() when it knows the result of a commit.
 */
#pragma once

#include "common/daemon.h"
#include "common/egress.h"
#include "provider-common/provider.h"
#include "provider-proxy/access_log.h"
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
	struct option_list trusted_proxies; /* see trusted_proxies.h, likewise: */
	char *client_address_header;
	struct option_list dns_servers;
	struct egress_options egress;
	bool stop_proxy;
	double stop_timeout;
	char *take_over; /* NULL: no proxy */
	int access_log;  /* enum access_log_form */
	char *access_log_to;
	int64_t metrics_ingresses; /* 0: none */
	int trace_context;         /* enum trace_context */
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
	/* What to do with a certificate that the proxy would refuse if there is no older one to use instead. True: on_commit() sees a certificate without
	 * content in its place. False: on_commit() sees it as it is, and the proxy accepts or refuses it. */
	bool drops_unusable;
	/* The addresses of a pool's host name have changed: treat the pool as if a commit had changed it. */
	void (*on_pool)(void *ctx, struct object *pool);
};

struct local_config {
	struct daemon *daemon;
	const struct local_options *options;
	const char *name;     /* "haproxy" */
	const char *software; /* "sluice-provider-haproxy 0.1.0" */
	/* Programs and folders that the proxy needs outside the system's folders; the rest is NULL. */
	const char *proxy[LOCAL_PATHS_MAX];
	enum routes_form routes;
	mode_t folder_mode; /* of both folders, from the start: a proxy may be serving from them already */
	struct capabilities *capabilities;
	const struct route_writer *writer; /* NULL: rules lead to pools, and do nothing else */
	const struct local_ops *ops;
	void *ctx;
};

/* Makes both folders, then enters the sandbox. NULL and *ret_problem in words (allocated); *ret_usage: an option is wrong. */
struct local *local_start(const struct local_config *config, char **ret_problem, bool *ret_usage);
/* Says bye. Traffic goes on. */
void local_free(struct local *local);

/* local_start() had to make the state folder: a proxy that already runs was started with another one, and its sandbox allows only that. */
bool local_has_new_folder(const struct local *local);
/* The state folder is gone and cannot be made again from within the sandbox: the program ends, and is given a new folder when it is restarted.
 * The proxy goes on serving, even with --stop-proxy. */
void local_end_without_folder(struct local *local);

/* The folder of the proxy's sockets exists, or was made again. False: neither; if the sandbox is the reason, the program ends as above. */
bool local_keep_proxy_folder(struct local *local);

struct state *local_state(struct local *local);
struct rows *local_rows(struct local *local);
struct routes *local_routes(struct local *local);
/* Call externals_settle() for every pool before it is used, externals_drop() when it is gone. */
struct externals *local_externals(struct local *local);
struct notices *local_notices(struct local *local);
const struct publish *local_publish(struct local *local);
struct ev_loop *local_loop(struct local *local);
/* state_dir/name; the caller frees it. */
char *local_path(const struct local *local, const char *name);
/* Where the proxy's sockets, pid file and log are: what must be written for it to start, and so must not need the disk. */
const char *local_proxy_dir(const struct local_options *options);
/* Likewise below that folder. */
char *local_proxy_path(const struct local *local, const char *name);
/* The supervisor to start when none is running; NULL: others start it. */
const char *local_supervisor(const struct local *local);

/* The provider of another proxy, which is taking over from ours, needs the link to the translator: it is left to it for that long. */
void local_yield(struct local *local, double seconds);
/* Another proxy, of the kind `by`, has taken over from ours, which drains: the program ends, as when it is asked to stop. */
void local_be_taken(struct local *local, const char *by);

/* All that was committed is in force, in the proxy and on disk. */
void local_applied(struct local *local);
/* Not yet, and why: NULL for no particular reason, and then it is told only if it lasts (verdict.h). */
void local_pending(struct local *local, const char *why);
/* It cannot be done now, and will be retried. The texts of both functions are copied and become the status message. */
void local_failed(struct local *local, const char *why);
/* Whether all that was committed is served, as far as it can be: the proxy has each row, and answers. Once there was a first result, this waits
 * neither for the disk nor for new ports, unlike local_applied(). False after each commit, until it is said again. */
void local_set_served(struct local *local, bool is_served);
/* What the proxy is to listen on, after ports_probe(): ports that cannot be served are reported. Those that can be again are reported by
 * local_applied(), when they are served. */
void local_set_ports(struct local *local, const struct ports *ports);
/* What readiness waits for besides the first snapshot; NULL: nothing. */
void local_set_missing(struct local *local, const char *missing);

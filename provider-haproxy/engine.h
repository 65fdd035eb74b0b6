// SPDX-License-Identifier: Apache-2.0
/*
 * The engine: brings HAProxy and its files to what is wanted. Three things are compared all the time, never assumed to be equal: what the
 * translator wants, what the files say, and what the running HAProxy has.
 *
 *   engine.c  life, commits, files          sync.c    reading back what HAProxy has
 *   change.c  checks, starts and reloads    pump.c    commands for what differs
 *   pools.c   from pools to slots          trust_files.c  CAs and client certificates for backends
 *   repair.c  damaged files
 *
 *   connection   DOWN --connected--> GREETING --known, snapshot there--> READING --compared--> READY
 *   change       NONE --needed--> CHECKING --haproxy -c is content--> NONE (started) or RELOADING --new worker--> NONE
 *
 * The order that keeps routes alive: servers, then the row that gives a pool its slot, then routes; taking away the other way round.
 */
#pragma once

#include "common/backoff.h"
#include "common/daemon.h"
#include "provider-haproxy/certs.h"
#include "provider-haproxy/cli.h"
#include "provider-haproxy/config.h"
#include "provider-haproxy/render.h"
#include "provider-haproxy/slots.h"
#include "provider-haproxy/trust_files.h"
#include "provider-local/local.h"
#include "provider-local/pace.h"
#include "provider-local/ports.h"
#include "provider-local/probe.h"
#include "provider-local/proxy.h"
#include "provider-local/rowfile.h"

enum engine_connection {
	CONNECTION_DOWN,
	CONNECTION_GREETING,
	CONNECTION_READING,
	CONNECTION_READY
};
enum engine_change { CHANGE_NONE, CHANGE_CHECKING, CHANGE_RELOADING };

/* First the routes to a pool go, then its row, then its servers: between them passes the time of a request that is being looked up. */
struct leaving {
	struct slot *slot;
	struct name pool;
	bool is_pool_gone; /* and its row is still there */
	ev_tstamp since;   /* when no row led to the pool, or to the slot, any more; 0: one may */
};

struct engine {
	struct daemon *daemon;
	struct ev_loop *loop;
	const struct config *config;
	struct local *local;
	struct arena arena; /* of one step */

	/* What is wanted. */
	struct slots slots;
	struct certs certs;
	struct trust_files trust;
	struct ports *ports;     /* that can be had */
	struct socket_list held; /* where HAProxy listens by the main file on disk */
	bool are_held_unknown;   /* HAProxy was found, but not the file that it runs with */
	ev_timer ports_again;    /* when to look whether they can still be had */
	bool are_ports_stale;
	bool are_ports_doubted; /* they will be stale in a moment */
	/* HAProxy still has listeners of a load balancer that is not wanted any more: no route goes before they do. */
	bool keeps_routes;
	ev_timer keep; /* how long at most */
	size_t passthrough_count;
	struct str default_certificate;
	struct buf main; /* text of the main file */
	struct buf
		installed; /* the one on the disk, which HAProxy has checked; empty: there is none */
	char description[RENDER_DESCRIPTION_LEN];
	uint64_t trusted_digest; /* of --trusted-certificates; 0: not known */
	bool is_main_stale;
	bool had_default; /* a default certificate, when the main file was made */
	struct leaving *leaving;
	size_t leaving_count;
	ev_timer leave; /* when the next slot that was left may be emptied */

	/* Files. */
	size_t damaged_count; /* in one look at them */
	ev_timer look;        /* whether the folders are there */
	struct rowfile *files[ROW_TABLE_COUNT];
	int disk_error;
	ev_timer flush;
	bool is_flush_needed;

	/* HAProxy. */
	/* Where its sockets are. One that was started without --proxy-dir keeps the state folder as long as it lives: its sandbox knows no other. */
	char *proxy_dir;
	char *socket;
	char *former_socket; /* in the state folder; NULL: the same */
	struct proxy *proxy; /* NULL with --socket */
	struct probe *probe;
	bool is_elsewhere; /* its sandbox knows a state folder that was removed: it cannot load from ours */
	struct cli *cli;
	enum engine_connection connection;
	ev_timer reconnect;
	struct backoff reconnect_backoff;
	char running[RENDER_DESCRIPTION_LEN]; /* description of what it runs; "" unknown */
	long worker;                          /* its pid */
	size_t live_groups;
	size_t removed_certs; /* by the present worker, which leaks a little with each */
	double renewed;       /* when HAProxy was reloaded for them last */
	bool is_fresh;   /* the worker has started from our files and nobody has commanded it */
	unsigned deaths; /* in a row, before the socket answered */
	ev_tstamp deaf_since; /* HAProxy runs and its socket refuses; 0: it does not */
	struct cert *sending; /* the certificate on its way */
	uint64_t sending_digest;
	char *sending_problem;
	ev_timer undelete;

	/* The change under way. */
	enum engine_change change;
	struct command *check; /* with --socket: run by us */
	ev_timer deadline;     /* of a reload; or when to try a change again */
	struct backoff change_backoff;
	struct pace pace;     /* of reloads */
	ev_timer next_reload; /* when it lets the next one be */
	long old_worker;
	bool is_reload_forced;
	bool is_offline_change;     /* HAProxy does not run: everything is written anew */
	size_t live_groups_checked; /* groups that the check knows */
	unsigned blames;            /* certificates left out so far */
	char *problem;              /* why the last change failed */
};

struct engine *engine_new(
	struct daemon *daemon, const struct config *config, char **ret_problem, bool *ret_usage);
/* HAProxy goes on serving; with --stop-proxy it finishes what is under way first. */
void engine_free(struct engine *engine);
/* Reads --trusted-certificates; HAProxy loads a file that has changed. */
void engine_read_trusted(struct engine *engine);

/* Looks at everything and does what can be done now. Cheap when there is nothing; may be called from any callback. */
void engine_step(struct engine *engine);
/* Of engine_disk.c. */
int engine_make_folders(const struct engine *engine);
int engine_write_group(struct engine *engine, struct group *group);
/* To be freed by the caller. */
char *engine_group_path(const struct engine *engine, size_t number);
/* Before the others. */
void engine_init_flush(struct engine *engine);
/* The files are to be written soon. */
void engine_want_flush(struct engine *engine);
/* Writes all that has changed; 0 or a negative errno, which has been told. */
int engine_flush(struct engine *engine);
void engine_disk_failed(struct engine *engine, int err, const char *what);
void engine_disk_worked(struct engine *engine);
/* Why something failed is of no interest any more. */
void engine_forget_problem(struct engine *engine);
bool engine_is_complete(const struct engine *engine);
char *engine_path(const struct engine *engine, const char *name);
/* Looks after so many seconds whether ports can be had. */
void engine_look_later(struct engine *engine, double after_s);

/* engine_proxy.c */

enum { ENGINE_DEATHS_MAX = 2 /* in a row, after which the files are made anew */ };
/* The proxy starts from what is there, whoever else is up. */
void engine_start_proxy(struct engine *engine);
/* For --stop-proxy: it finishes what is under way. */
void engine_end_proxy(struct engine *engine);
/* Where its sockets are. */
void engine_use_folder(struct engine *engine, struct str dir);
/* What a HAProxy that had its sockets in the state folder has left there. */
void engine_remove_former(const struct engine *engine);

/* pools.c */
void pools_on_change(struct engine *engine, struct object *object, bool is_removed);
void pools_init(struct engine *engine);
void pools_fini(struct engine *engine);
/* Takes away the rows of pools that are gone, and empties slots that were left, when for a while nothing has led there. */
void pools_finish_leaving(struct engine *engine);
/* Servers whose CA or client certificate HAProxy names in what it says are left out; false: there are none. */
bool pools_blame(struct engine *engine, struct str output);
/* The file of this name is damaged: its content is had again from a pool, see trust_files_write(). */
void pools_refill_trust(struct engine *engine, const struct name *name);
/* Slots that pools had before our start, from the rows on disk. */
void pools_remember(struct engine *engine);
/* Keeps room for pools to come. */
void pools_provide(struct engine *engine);

/* change.c */
void change_update_main(struct engine *engine);
bool change_is_needed(const struct engine *engine);
/* Whether what is needed may begin now: reloads have their pace. Comes back when it may. */
bool change_may_begin(struct engine *engine);
void change_begin(struct engine *engine);
/* Reads from the main file that was installed which ports it has. */
void change_read_held(struct engine *engine);
/* The new worker has come, or has not: `worker` answers. */
void change_on_worker(struct engine *engine, long worker);
void change_free(struct engine *engine);
void change_init(struct engine *engine);

/* hearing.c */
void hearing_init(struct engine *engine);
/* Another process answers, or none. */
void hearing_on_proxy(struct engine *engine);
/* HAProxy has loaded the present configuration. */
void hearing_on_loaded(struct engine *engine);

/* sync.c */
void sync_connect(struct engine *engine);
void sync_disconnect(struct engine *engine, const char *why);
/* HAProxy is not as was thought: everything is read back. */
void sync_again(struct engine *engine);
/* Reads what HAProxy has; ends in READY. */
void sync_begin(struct engine *engine);
void sync_init(struct engine *engine);

/* pump.c */
void pump_run(struct engine *engine);
/* Nothing is left to do in HAProxy. */
bool pump_is_idle(const struct engine *engine);
void pump_init(struct engine *engine);
void pump_free(struct engine *engine);

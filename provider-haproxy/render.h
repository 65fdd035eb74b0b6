// SPDX-License-Identifier: Apache-2.0
/*
 * HAProxy's configuration as text. It contains nothing from a tenant but what a check of provider-proxy/checks.h has accepted, and that only as
 * words of quote.h: hosts and paths are in maps, pools and hosts have names of ours. No I/O.
 *
 * The main file's `description` is "sluice DIGEST GROUPS": which text HAProxy runs and with which groups, and how many groups of slots. It is read back by `show info`.
 */
#pragma once

#include "common/buf.h"
#include "provider-haproxy/slots.h"
#include "provider-proxy/access_log.h"
#include "provider-proxy/ports.h"
#include "provider-proxy/trusted_proxies.h"

enum {
	RENDER_DESCRIPTION_LEN = 48,
	RENDER_LEN_MAX = 64 * 1024 * 1024,
	/* So often HAProxy looks which connections to endpoints are idle. It closes those that it has found idle twice, so they are kept for 60 to 90 s. */
	RENDER_IDLE_LOOK_S = 30,
	/* Of an endpoint. While there are fewer, each thread of HAProxy has its own, and gets it sooner than another's. */
	RENDER_IDLE_COUNT = 64,
};

struct render_input {
	const char *state_dir;     /* see render_is_path() */
	const char *proxy_dir;     /* likewise; of the sockets between its own parts */
	const char *socket;        /* stats socket */
	const char *system_ca;     /* likewise; NULL: none */
	uint64_t system_ca_digest; /* of its content; 0: not known */
	const struct ports *ports;
	size_t group_count;
	uint64_t groups_layout; /* slots_layout() */
	bool has_default;       /* there is a default certificate */
	unsigned hard_stop_after_s;
	enum access_log_form access_log;
	const char *access_log_server;             /* NULL: lines go to sluice-proxy */
	const struct option_list *trusted_proxies; /* see trusted_proxies.h; NULL: none */
	const char *client_header;
	enum trace_context trace_context;
	int64_t metrics_ingresses; /* 0: none is counted; else without access_log_server */
};

/* Letters, digits and /._- only: such a path needs no quoting anywhere. */
bool render_is_path(const char *path);
/* Appends the main file; ret_description[RENDER_DESCRIPTION_LEN] is as `show info` will print it. */
void render_main(struct buf *out, const struct render_input *input, char *ret_description);
/* Appends the file of a group, with the servers that are wanted. */
void render_group(struct buf *out, const struct group *group);
/* Reads back the class from a file that render_group() has made, and adds the group to `slots`, whose number is the next one. A group that was given
 * back stays so. */
bool render_read_group(struct str content, struct slots *slots);
/* The number of groups according to a main file. */
size_t render_read_group_count(struct str content);
/* Stands before each address of a main file on which HAProxy listens for clients. */
#define RENDER_BIND "\tbind "

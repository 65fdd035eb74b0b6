// SPDX-License-Identifier: Apache-2.0
/*
 * The text of nginx.conf. What an Ingress decides is not in it but in rows; it holds listeners, the pools of those for TCP and UDP, and the server
 * names of TLS that is passed through. No I/O.
 *
 * Nothing reaches the text but numbers, names made by us (names.h), addresses and server names that were checked, and the administrator's
 * paths, all through quote.h. nginx.conf.tmpl is what the text looks like.
 */
#pragma once

#include "common/buf.h"
#include "proto/model.h"
#include "provider-proxy/access_log.h"
#include "provider-proxy/checks.h"
#include "provider-proxy/names.h"
#include "provider-proxy/ports.h"
#include "provider-nginx/terms.h"
#include "provider-nginx/ways.h"

enum {
	CONF_LEN_MAX = 64 * 1024 * 1024,
	CONF_SHARDS =
		32, /* upstreams of each protocol; as many as in lua/sluice/pools.lua, with the same names */
	CONF_SHARD_DIGITS = 8, /* with which names of them begin */
	CONF_IPV4 = 1,
	CONF_IPV6 = 2,
};

/* As the administrator says; all texts have passed conf_check_path() or are empty. */
struct conf_options {
	struct str state_dir;
	struct str proxy_dir; /* of sockets and nginx's pid */
	struct str lua_dir;
	struct str modules_dir;
	struct str system_ca;      /* what the machine trusts; empty: there is no such file */
	uint64_t system_ca_digest; /* of its content; 0: not known */
	struct str user;           /* of workers; empty: we are not root and cannot choose */
	const struct option_list *trusted_proxies; /* see trusted_proxies.h; NULL: none */
	struct str client_header;
	int64_t workers; /* 0: as many as there are processors */
	int64_t open_files;
	int64_t dictionary_mb;
	char control; /* which of two names the control socket has: 'a' or 'b' */
	unsigned
		reloads; /* increased when files that it names change, so that the configuration differs */
	int64_t shutdown_s;
	enum access_log_form access_log;
	int64_t metrics_ingresses; /* 0: none is counted */
	enum trace_context trace_context;
	struct str access_log_server; /* as nginx wants it; empty: lines go to a file of ours */
	bool has_lua_module; /* as a file of modules_dir; otherwise it is built in, likewise the next */
	bool has_ndk_module;
	bool has_stream_module;
};

struct conf_peer {
	struct check_ip ip;
	uint16_t port;
};

/* Where connections go whose TLS is not terminated. */
struct conf_pool {
	struct name name;
	enum pool_algorithm algorithm;
	bool sends_proxy;
	struct conf_peer *peers; /* those that are active */
	size_t peer_count;
};

struct conf_tcp {
	size_t port; /* index of the port */
	struct name pool;
};

/* A host with TLS passed through. */
struct conf_pass {
	struct name load_balancer;
	struct str load_balancer_id;
	struct str host; /* checked; with `*.` for one label */
	struct name pool;
	struct str ingress; /* who wants it */
};

struct conf_trust {
	struct name name;
	struct str text; /* of its terms; empty: it has none */
	struct terms terms;
};

struct conf {
	const struct conf_options *options;
	const struct ports *ports;
	/* Ports with more than one socket each, sorted. Such a port stays so, because nginx cannot go back without losing connections. */
	const uint16_t *split;
	size_t split_count;
	/* Sockets that the next configuration will close. Until this one is in force they are in the way of others. */
	struct socket_list leaving;
	/* Of TCP and UDP. Sorted by port; such a port without an entry is closed. */
	struct conf_tcp *tcp;
	size_t tcp_count;
	struct conf_pass *passes; /* sorted by load balancer, then host */
	size_t pass_count;
	struct conf_pool *pools; /* sorted by name, each once */
	size_t pool_count;
	struct conf_trust *
		trusts; /* who may sign certificates of backends, see trusts.h; sorted, each once */
	size_t trust_count;
	struct ways ways;
};

/* Brings the passes and the pools into their order; of pools with one name the first stays. Before it, they may stand in any. */
void conf_sort(struct conf *conf);
/* NULL: there is none. */
struct conf_pool *conf_find_pool(const struct conf *conf, const struct name *name);
/* The upstream for connections to a pool, which may be NULL: one that is not known, or has no endpoints, is none. */
struct str conf_target(const struct conf *conf, const struct name *pool);
/* The passes of a load balancer: *ret_count of them from the index that is returned. */
size_t conf_find_passes(
	const struct conf *conf, const struct name *load_balancer, size_t *ret_count);

/* A piece of the configuration that can be left out alone because somebody owns it: a listener that a Service wants, a host that is
 * passed through. Pieces are numbered: ports first, then passes. */
size_t conf_piece_count(const struct conf *conf);
/* Ports of the class have no owner and are never left out. */
bool conf_piece_is_owned(const struct conf *conf, size_t piece);

/* What a worker may have open at a time; some descriptors are for other things, such as bodies that are on the disk. */
int64_t conf_connections(const struct conf_options *options);
/* How many that nobody uses each upstream of a protocol keeps, if all of them may have one `share`th of the connections. At least one. */
int64_t conf_idle(const struct conf_options *options, int64_t share);
/* Of the addresses of the port, and so of its clients. */
unsigned conf_families(const struct port *port);

/* Whether the port has more than one socket. */
bool conf_is_split(const struct conf *conf, uint16_t port);
/* Appends the text without the pieces for which is_out[piece] is true; is_out may be NULL. *ret_generation tells contents apart and stands in the
 * text. -EMSGSIZE: it is too long; -EINVAL: an option cannot be quoted. */
[[nodiscard]] int conf_render(
	const struct conf *conf, const bool *is_out, struct buf *out, uint64_t *ret_generation);
/* Where it will be; the caller frees it. */
char *conf_control_path(const struct conf_options *options);
/* The socket of the control server in a file; empty: it has none. */
struct str conf_read_control(struct str file);
/* Stands before each address in a file on which nginx listens. */
#define CONF_LISTEN "\t\tlisten "
/* The ports with more than one socket each in a file, sorted; the caller frees them. */
uint16_t *conf_read_split(struct str file, size_t *ret_count);
/* The names of trusts in a file, for conf_next_trust(), which removes one at a time, with its terms, which may be empty; false: there are no more. */
struct str conf_read_trusts(struct str file);
bool conf_next_trust(struct str *rest, struct name *ret_name, struct str *ret_terms);
/* conf_options.reloads of the file. */
unsigned conf_read_reloads(struct str file);
/* Whether the file is of this generation. */
bool conf_is_generation(struct str file, uint64_t generation);
/* Whether the path can stand in a configuration and in Lua: letters, digits and `/._-+@` only, absolute. */
bool conf_check_path(struct str path);

// SPDX-License-Identifier: Apache-2.0
/*
 * The engine: records in, load balancer objects, statuses and Events out. It knows neither sockets
 * nor clocks: it is given messages, and writes frames where it finds room. So tests can run all of
 * it without a process.
 *
 *   records --> graph --> what depends on it is dirty --> built, compared, sent when there is room
 *
 * Nothing is sent to a provider, and nothing is removed, before every kind of record is synced.
 * Then the state is whole, and stays so while the watcher is disconnected. When a watcher
 * reconnects, the state is whole again once all of its records have arrived; until then everything
 * stays as it is.
 */
#pragma once

#include "common/egress.h"
#include "proto/message.h"

struct engine;

struct engine_config {
	bool allow_external_name;
	const struct option_list
		*egress_hosts;        /* see foreign_hosts.h; must stay valid; NULL: none */
	bool shared_hosts;            /* hosts have no owner */
	struct egress *egress;        /* must stay valid; NULL: the built-in policy */
	struct str default_namespace; /* of the default certificate; must stay valid */
	struct str default_name;      /* empty: none */
	struct str
		backend_namespace; /* of the Service that takes what no rule does; must stay valid */
	struct str backend_name;   /* empty: none */
	int64_t certificate_warn_s;
	uint64_t http_port;  /* of a load balancer that a class shares; 0: 80 */
	uint64_t https_port; /* likewise; 0: 443 */
	struct str
		publish_namespace; /* of the Service whose addresses are published; must stay valid */
	struct str publish_name;   /* empty: publish those that the provider reports */
	bool takes_nginx;          /* Ingresses of ingress-nginx are ours, too */
	struct str nginx_prefix;   /* of their annotations; must stay valid; empty: the usual one */
	/* Accept Secrets without their keys: for inspecting a line whose keys nobody may see. */
	bool takes_keyless;
};

/* Where to write. The functions return the output while the peer is connected and has room,
 * otherwise NULL; `flush` is called after something was appended. */
struct engine_ops {
	struct buf *(*source_out)(void *ctx);
	void (*source_flush)(void *ctx);
	struct buf *(*provider_out)(void *ctx);
	void (*provider_flush)(void *ctx);
	/* An Event was sent to the watcher; may be NULL. */
	void (*on_event)(void *ctx, const struct event_note *note);
};

/* The default certificate, if it was made here: no Secret of Kubernetes can have this name. */
#define ENGINE_MADE_NAMESPACE "sluice"
#define ENGINE_MADE_NAME      "made_certificate"

struct engine *engine_new(
	const struct engine_config *config, const struct engine_ops *ops, void *ctx);
void engine_free(struct engine *engine);

/* A default certificate of our own making, in PEM, for an engine whose configuration names that of ENGINE_MADE_NAME. To be called once, before any message. */
void engine_make_default(struct engine *engine, struct str chain, struct str key);

/* Seconds since 1970; certificates that are about to expire are reported when it is time. */
void engine_set_time(struct engine *engine, int64_t now_s);

void engine_source_up(struct engine *engine);
void engine_source_down(struct engine *engine);
/* A negative errno ends the link, for the reason in *ret_error. */
[[nodiscard]] int engine_source_message(
	struct engine *engine, const struct message *message, struct schema_error *ret_error);

/* Reports all diagnostics of each object again, as standing ones. */
void engine_repeat(struct engine *engine);

void engine_provider_up(struct engine *engine, const struct hello *peer);
void engine_provider_down(struct engine *engine);
[[nodiscard]] int engine_provider_message(
	struct engine *engine, const struct message *message, struct schema_error *ret_error);

/* Processes what the messages brought: call it when a socket runs dry and when there is room. True:
 * it yielded after a while so that others can run; call it again. */
bool engine_work(struct engine *engine);

/* Every kind that the watcher announced has been synced at least once. */
bool engine_is_whole(const struct engine *engine);
/* What it waits for, in words: "the watcher", "the records of kind secret"; NULL: nothing. In a
 * buffer of the engine. */
const char *engine_missing(struct engine *engine);

/* Sets those metrics of metrics.def that are not updated as things happen. Walks the Secrets. */
void engine_measure(struct engine *engine);

struct engine_counts {
	size_t records[RECORD_KIND_COUNT];
	size_t objects[LB_KIND_COUNT]; /* that the provider has */
};
void engine_count(const struct engine *engine, struct engine_counts *ret_counts);

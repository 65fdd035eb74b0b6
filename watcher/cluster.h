// SPDX-License-Identifier: Apache-2.0
/*
 * All reflectors of a cluster: discovers what is served, keeps one reflector for each kind and namespace, knows when the state is
 * complete and what is missing, and repeats discovery when a version is no longer served or after a long outage (a cluster upgrade).
 */
#pragma once

#include "common/options.h"
#include "watcher/discovery.h"
#include "watcher/named_refs.h"
#include "watcher/reflector.h"

struct cluster;

struct cluster_ops {
	/* The kinds that will be synced, in this order. Called again when another kind begins to be served. */
	void (*on_kinds)(void *ctx, const int *kinds, size_t count);
	/* The version under which a kind is read from now on. */
	void (*on_version)(void *ctx, const struct kind_version *version);
	/* Every kind has synced for the first time. */
	void (*on_whole)(void *ctx);
	void (*on_changed)(void *ctx);
	/* What is missing, in words; NULL: nothing. Called whenever it may have changed. */
	void (*on_missing)(void *ctx, const char *missing);
	/* An object cannot be used. */
	void (*on_refused)(
		void *ctx, enum record_kind kind, const struct project_meta *meta, const char *why);
};

/* The pods that take traffic, for the addresses that Ingresses show. */
struct cluster_replicas {
	struct str namespace; /* empty: none are asked for */
	struct str selector;  /* of labels, as the API server wants it */
	bool wants_nodes;     /* their addresses, too */
};

struct cluster_config {
	struct ev_loop *loop;
	struct api *api;
	struct store *store;
	const struct reflector_options *options; /* kept */
	struct option_list namespaces;           /* kept; none: all */
	struct named_refs_config named;          /* its texts are kept */
	struct cluster_replicas replicas;        /* its texts are kept */
	bool wants_streams;
	bool wants_classes; /* IngressClass objects */
	const struct cluster_ops *ops;
	void *ctx;
};

enum { CLUSTER_NAMESPACES_MAX = 64 };

struct cluster *cluster_new(const struct cluster_config *config);
void cluster_free(struct cluster *cluster);
/* Adds a line on the age of what is known, where it is older than it should be; what does not fit is left out. */
void cluster_describe(const struct cluster *cluster, struct buf *out);
/* Retries at once whatever is waiting to be retried. */
void cluster_hurry(struct cluster *cluster);

// SPDX-License-Identifier: Apache-2.0
/*
 * Rancher's change events by websocket. Whether they reach an account depends on the server's version and the role of the keys, and nothing is
 * replayed after a connection was lost. So they only make us notice sooner, and lists go on:
 *
 *   - Each new connection is followed by a list.
 *   - The feed counts as proven once it has delivered a change of anything, until the connection is lost, or a list shows a change that
 *     the feed should have reported. While it is proven and nothing is under way, lists are read less often.
 */
#pragma once

#include "provider-rancher/client.h"

struct feed;

struct feed_ops {
	/* A connection is open. What happened before it is not reported. */
	void (*on_open)(void *ctx);
	/* A resource of this type has changed, and looks like this now. */
	void (*on_change)(void *ctx, struct str type, const struct json *resource);
	/* The connection was lost, or refused. */
	void (*on_closed)(void *ctx);
};

/* Keeps all pointers: *peer may be replaced, and the keys may change. */
struct feed_config {
	const struct client *client;
	const struct config *options;
	const struct credentials *keys;
	struct http_peer *const *peer;
	const struct feed_ops *ops;
	void *ctx;
};

struct feed *feed_new(const struct feed_config *config);
void feed_free(struct feed *feed);
/* Connects, and does so again whenever the connection is lost; nothing with --no-events. */
void feed_start(struct feed *feed);

bool feed_is_proven(const struct feed *feed);
/* A list has shown a change that no event has reported. */
void feed_missed(struct feed *feed);

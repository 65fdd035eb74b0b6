// SPDX-License-Identifier: Apache-2.0
/*
 * The source link's sender: sends the store to the translator, nothing twice, and never faster than
 * the translator reads.
 *
 * When a link is up and every kind has synced, the snapshot is sent by walking the store, kind by kind, each between
 * its marks. Objects that change behind the walk, and new ones, are queued unless they already are; each is sent in
 * the form that is newest then. A deleted object is kept, without its record, until the deletion has been sent, but
 * only if the peer knows the object. So the queue never holds more than one entry for each object of the store and
 * one for each that the peer knows: it is bounded by state, not by speed.
 *
 * The caller supplies the functions that send, so this module only handles data.
 */
#pragma once

#include "watcher/store.h"

#include <bsd/sys/queue.h>

enum { OUTLET_KINDS_MAX = RECORD_KIND_COUNT };

struct outlet_ops {
	/* False: not now; call outlet_flush() again when there is room. */
	bool (*has_room)(void *ctx);
	void (*send_settings)(void *ctx, const struct source_settings *settings);
	void (*send_mark)(void *ctx, bool begin, enum record_kind kind);
	/* With store_encode(). */
	void (*send_object)(void *ctx, const struct store_object *object);
	/* The snapshot has been sent as a whole. */
	void (*on_snapshot)(void *ctx);
};

struct outlet_change {
	TAILQ_ENTRY(outlet_change) link;
	struct store_object *object;
};

struct outlet {
	struct store *store;
	const struct outlet_ops *ops;
	void *ctx;
	struct source_settings settings; /* texts and kinds belong to the owner */
	bool is_up;                      /* a peer is there */
	bool has_settings;               /* the kinds are known */
	bool settings_sent;
	bool is_whole;  /* every kind has synced */
	bool has_begun; /* the snapshot was queued for this peer */
	bool snapshot_done;
	size_t kind_at; /* the kind of the snapshot that is being sent */
	bool kind_begun;
	struct store_object *next; /* of this kind; NULL: none is left */
	TAILQ_HEAD(outlet_queue, outlet_change)
	queue;
	size_t queue_len;
};

/* Observes the store; both ops and store are kept. */
void outlet_init(
	struct outlet *outlet, struct store *store, const struct outlet_ops *ops, void *ctx);
void outlet_fini(struct outlet *outlet);
/* What is sent to the translator first. `settings` is copied; its texts and lists are kept. */
void outlet_set_settings(struct outlet *outlet, const struct source_settings *settings);
void outlet_link_up(struct outlet *outlet);
void outlet_link_down(struct outlet *outlet);
/* Every kind has synced: snapshots may be sent from now on. */
void outlet_set_whole(struct outlet *outlet);
/* Sends what can be sent; to be called when there is room and after changes. */
void outlet_flush(struct outlet *outlet);

// SPDX-License-Identifier: Apache-2.0
/*
 * The watcher: whether it is connected, its settings, and which kinds of its records are synced. Knows nothing of the records themselves.
 */
#pragma once

#include "translator/engine.h"

struct source_peer;

/* `ops` must stay valid. */
struct source_peer *source_peer_new(const struct engine_ops *ops, void *ctx);
void source_peer_free(struct source_peer *source);

void source_peer_up(struct source_peer *source);
/* What arrived of an incomplete snapshot stays unsent until a complete one; a whole state stays in force. */
void source_peer_down(struct source_peer *source);
bool source_peer_is_up(const struct source_peer *source);

/* -EPROTO: it has sent them already. *ret_is_news: they differ from those in force until now. */
[[nodiscard]] int source_peer_take_settings(
	struct source_peer *source, const struct source_settings *settings, bool *ret_is_news);
/* The connected watcher has sent its settings. */
bool source_peer_has_settings(const struct source_peer *source);
/* The settings in force, perhaps of an earlier watcher; empty before the first. */
const struct source_settings *source_peer_settings(const struct source_peer *source);
/* Whether records of that kind are sent at all. */
bool source_peer_syncs(const struct source_peer *source, enum record_kind kind);

/* The sync of a kind begins, and ends. -EPROTO: out of sequence. */
[[nodiscard]] int source_peer_begin(struct source_peer *source, enum record_kind kind);
[[nodiscard]] int source_peer_end(struct source_peer *source, enum record_kind kind);
/* Checks whether all kinds are synced. True: they are as of this call. */
bool source_peer_complete(struct source_peer *source);
/* Every kind was synced at least once, and the present watcher, if any, has completed its snapshot.
 */
bool source_peer_is_whole(const struct source_peer *source);
/* Something was built already, or may have been, from settings that were received. */
bool source_peer_is_known(const struct source_peer *source);
/* As engine_missing(). */
const char *source_peer_missing(struct source_peer *source);

/* Where to write; NULL: no watcher, or no room. */
struct buf *source_peer_out(const struct source_peer *source);
void source_peer_flush(const struct source_peer *source);
/* Calls engine_ops.on_event() for an Event that was sent. */
void source_peer_noted(const struct source_peer *source, const struct event_note *note);

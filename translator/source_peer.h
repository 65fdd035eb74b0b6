// SPDX-License-Identifier: Apache-2.0
/*
 * The watcher: whether it is there, which settings it told, and of which kinds its records are all there. Knows nothing of the records themselves.
 */
#pragma once

#include "translator/engine.h"

struct source_peer;

/* `ops` must stay valid. */
struct source_peer *source_peer_new(const struct engine_ops *ops, void *ctx);
void source_peer_free(struct source_peer *source);

void source_peer_up(struct source_peer *source);
/* What was taken of a snapshot that is not whole stays unsent until there is a whole one; a whole state stays in force. */
void source_peer_down(struct source_peer *source);
bool source_peer_is_up(const struct source_peer *source);

/* -EPROTO: it told them before. *ret_is_news: they are others than those that held until now. */
[[nodiscard]] int source_peer_take_settings(
	struct source_peer *source, const struct source_settings *settings, bool *ret_is_news);
/* The watcher that is there has told its settings. */
bool source_peer_has_settings(const struct source_peer *source);
/* Those that hold, of an earlier watcher if need be; empty while there was none. */
const struct source_settings *source_peer_settings(const struct source_peer *source);
/* Whether records of that kind are told at all. */
bool source_peer_syncs(const struct source_peer *source, enum record_kind kind);

/* The records of a kind begin to come, and are all there. -EPROTO: out of place. */
[[nodiscard]] int source_peer_begin(struct source_peer *source, enum record_kind kind);
[[nodiscard]] int source_peer_end(struct source_peer *source, enum record_kind kind);
/* Looks whether nothing is awaited any more. True: that is so since now. */
bool source_peer_complete(struct source_peer *source);
/* Every kind is there, at least once, and the present watcher's records are all there. */
bool source_peer_is_whole(const struct source_peer *source);
/* Something was built already, or may have been, by settings that were told. */
bool source_peer_is_known(const struct source_peer *source);
/* As engine_missing(). */
const char *source_peer_missing(struct source_peer *source);

/* Where to write; NULL: nobody is there, or there is no room. */
struct buf *source_peer_out(const struct source_peer *source);
void source_peer_flush(const struct source_peer *source);
/* Tells whoever wants to know of an Event that was written. */
void source_peer_noted(const struct source_peer *source, const struct event_note *note);

// SPDX-License-Identifier: Apache-2.0
/*
 * The records of the watcher: their upserts, deletes and syncs. Each is kept as its message (graph.h); changes.h works out what follows from a
 * change.
 */
#pragma once

#include "translator/changes.h"

struct records;

/* All must stay valid. */
struct records *records_new(struct graph *graph, struct plans *plans, const struct changes *changes,
	const struct source_peer *source, struct arena *scratch);
void records_free(struct records *records);

/* How many there are. */
size_t records_count(const struct records *records, enum record_kind kind);
int records_take(
	struct records *records, const struct message *message, struct schema_error *ret_error);
int records_delete(struct records *records, const struct record_key *key);
/* A Secret that no watcher sends: it stays, whatever one does. To be called once. */
void records_put_made(struct records *records, const struct secret_record *secret);
/* Settings have changed: whose ports for TCP and UDP are served is determined anew. */
void records_settle_ports(struct records *records);
/* The object exists but cannot be read now: its last known record counts as repeated. `payload`: of the `keep`
 * message. */
int records_keep(struct records *records, const struct record_key *key, struct str payload);
void records_begin(struct records *records, enum record_kind kind);
/* Drops what was not named since records_begin(). */
void records_end(struct records *records, enum record_kind kind);

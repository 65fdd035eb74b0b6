// SPDX-License-Identifier: Apache-2.0
/*
 * When the journal is written: with each change, synced soon after, rewritten as a whole when that is due, tried again when the disk refuses.
 */
#pragma once

#include "provider-nginx/feed_order.h"
#include "provider-nginx/journal.h"

#include <ev.h>

struct state_file;

struct state_file_ops {
	/* state_file_trouble() has changed. */
	void (*on_change)(void *ctx);
	/* Time to try again what has failed. */
	void (*on_again)(void *ctx);
};

/* The path is copied; the order must outlive it. */
struct state_file *state_file_new(struct ev_loop *loop, const char *path,
	const struct feed_order *order, const struct state_file_ops *ops, void *ctx);
void state_file_free(struct state_file *file);

struct journal *state_file_journal(struct state_file *file);
/* A change, if the file has the state `base`. If it is behind, or has another one, state_file_settle() rewrites it later. */
void state_file_append(struct state_file *file, struct str batch, const struct batch_head *head);
/* All that is wanted, as the state `serial`. */
void state_file_rewrite(struct state_file *file, uint64_t serial);
/* nginx has the state `serial`, which is all that is wanted: the file is rewritten if it must be, and nothing forbids it yet. */
void state_file_settle(struct state_file *file, uint64_t serial);
/* That it is behind, in words; NULL: it is not. */
const char *state_file_trouble(const struct state_file *file);

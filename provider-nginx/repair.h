// SPDX-License-Identifier: Apache-2.0
/*
 * Checks the files that nginx starts from before it does: what is missing, truncated, altered, or somebody else's is reported and replaced. What is
 * not known before the first snapshot is replaced by something with which the rest can be served: a CA by a certificate that nobody trusts. Without
 * its configuration nginx is started only with the snapshot. The state file is checked when it is read, see feed.h.
 */
#pragma once

#include "provider-nginx/config.h"
#include "provider-nginx/feed.h"
#include "provider-nginx/setup.h"
#include "provider-nginx/trusts.h"

struct repair {
	struct local *local;
	const struct config *config;
	void (*on_change)(void *ctx); /* is_folder_gone is another */
	void *ctx;
	struct setup *setup;
	struct feed *feed;
	struct trusts *trusts;
	bool is_complete;    /* what is wanted is known */
	bool is_folder_gone; /* the state folder was removed, and cannot be made again */
	bool has_files;      /* what nginx starts from was there at the last look */
	ev_timer look;
	bool has_substitutes; /* nginx has loaded, or will load, what has to be replaced by a reload once is_complete */
};

/* Before each start, and when a folder was made again. False: nginx cannot be started. */
bool repair_files(struct repair *repair);
/* feed_load(), which is told of a damaged file. */
void repair_load_state(struct repair *repair);
/* Checks every second whether what nginx starts from is still there, and restores what is not. */
void repair_watch(struct repair *repair);
void repair_unwatch(struct repair *repair);
/* The certificate for clients whose server name matches none of ours; 0 or a negative errno. */
int repair_placeholder(const char *state_dir);

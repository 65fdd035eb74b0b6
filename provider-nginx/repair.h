// SPDX-License-Identifier: Apache-2.0
/*
 * The files that nginx starts from, looked at before it does: what is missing, cut off, altered, or somebody else's is told, and made anew. What nobody
 * knows before the first snapshot is replaced by something with which the rest is served: a CA by a certificate that nobody trusts. Without its
 * configuration nginx is started with the snapshot. The state file is looked at when it is read, see feed.h.
 */
#pragma once

#include "provider-nginx/feed.h"
#include "provider-nginx/setup.h"
#include "provider-nginx/trusts.h"

struct repair {
	const char *state_dir;
	struct setup *setup;
	struct feed *feed;
	struct trusts *trusts;
	bool is_complete; /* what is wanted is known */
	bool has_substitutes; /* nginx has loaded, or will load, what has to be replaced by a reload once is_complete */
};

/* Before each start, and when a folder was made again. False: nginx cannot be started. */
bool repair_files(struct repair *repair);
/* What nginx starts from is where it was. Cheap. */
bool repair_is_whole(const struct repair *repair);
/* The certificate for clients that ask for none of ours; 0 or a negative errno. */
int repair_placeholder(const char *state_dir);
/* Says that a file is damaged. */
void repair_tell(const char *path, const char *problem);

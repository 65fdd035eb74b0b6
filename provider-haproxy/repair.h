// SPDX-License-Identifier: Apache-2.0
/*
 * Checks the files that HAProxy starts from before it does: what is missing, truncated, altered, or somebody else's is reported and replaced. Once a
 * snapshot is there, from what is wanted; before that the right content is not known, and something takes its place with which HAProxy starts:
 *
 *   the main file       nothing: HAProxy is not started before the first snapshot
 *   slots               nothing: their pools have no endpoints; another group gets the number, and is loaded after the first snapshot
 *   maps                the lines that are good
 *   the list            the default certificate alone
 *   the Lua script     the same: it is always the same
 *   certificates, CAs   a certificate that nobody trusts
 */
#pragma once

#include "provider-haproxy/engine_state.h"

/* Reads the main file and the groups of slots; reports and replaces what is damaged. At start-up, before looking for HAProxy. */
void repair_read(struct engine *engine);
/* Looks at all files; before each start and each reload. False: HAProxy cannot be started from them. */
bool repair_files(struct engine *engine);
/* The folders, and the files without which nothing starts, are where they were. Cheap. */
bool repair_is_whole(const struct engine *engine);
/* Makes again what repair_is_whole() misses; 0 or a negative errno. */
int repair_folders(struct engine *engine);
/* Looks every second whether the folders are there. */
struct repair *repair_new(struct engine *engine);
void repair_free(struct repair *repair);

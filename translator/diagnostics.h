// SPDX-License-Identifier: Apache-2.0
/*
 * Sends diagnostics to the watcher, each once while it persists. Only digests of those sent are
 * kept, with the node that they belong to; a diagnostic that recurs after it was resolved is sent
 * again. No text is queued: while there is no room, or no watcher, the node waits, and its
 * diagnostics are computed afresh.
 */
#pragma once

#include "translator/diag.h"
#include "translator/pending.h"
#include "translator/source_peer.h"

struct diagnostics;

/* All must stay valid. */
struct diagnostics *diagnostics_new(
	struct source_peer *source, struct pending *pending, struct arena *scratch);
void diagnostics_free(struct diagnostics *diagnostics);

/* Whether diagnostics found from now on may have existed, and been sent, before. */
void diagnostics_set_standing(struct diagnostics *diagnostics, bool on);
/* Sends those of the list that were not sent yet. `keep`: the previous ones still hold. */
void diagnostics_update(struct diagnostics *diagnostics, struct node *node,
	enum diagnostics_part part, const struct diag_list *diags, bool keep);
/* The node has no diagnostics any more. */
void diagnostics_drop(struct diagnostics *diagnostics, struct node *node);
void diagnostics_source_up(struct diagnostics *diagnostics);
/* False: no room, or no watcher. */
bool diagnostics_event(struct diagnostics *diagnostics, const struct object_ref *ingress,
	enum event_type type, struct str reason, struct str message, bool standing);

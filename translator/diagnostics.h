// SPDX-License-Identifier: Apache-2.0
/*
 * Diagnostics to the watcher, each told once while it stands. Of what was told only digests are
 * kept, by the node that has it to say; a diagnostic that comes back after it was gone is told
 * again. Nothing waits as text: while there is no room, or no watcher, the node waits, and what it
 * has to say is found out again.
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

/* Whether what is found from now on may have been there, and told, before. */
void diagnostics_set_standing(struct diagnostics *diagnostics, bool on);
/* Tells those of the list that have not been told. `keep`: the old ones still stand. */
void diagnostics_update(struct diagnostics *diagnostics, struct node *node,
	enum diagnostics_part part, const struct diag_list *diags, bool keep);
/* The node has nothing to say any more. */
void diagnostics_drop(struct diagnostics *diagnostics, struct node *node);
void diagnostics_source_up(struct diagnostics *diagnostics);
/* False: no room, or nobody there. */
bool diagnostics_event(struct diagnostics *diagnostics, const struct object_ref *ingress,
	enum event_type type, struct str reason, struct str message, bool standing);

// SPDX-License-Identifier: Apache-2.0
/*
 * A record of the graph, read: as the struct of its kind, as its key, and an Ingress or Service as the owner that diagnostics name. Nothing is
 * changed; the record must be there, which is the caller's care.
 */
#pragma once

#include "translator/diag.h"
#include "translator/graph.h"

/* Of a kind that is one, not RECORD_NONE. */
enum node_kind record_node_kind(enum record_kind kind);
const struct schema *record_schema(enum record_kind kind);
/* Into the struct of its kind; texts may point into the record. Of one that cannot be read now (NODE_KEPT) only the key is there. */
void record_read(const struct record *record, struct arena *arena, void *ret_value);
/* The ingress as an object reference, texts in the arena. */
struct object_ref ingress_ref(const struct ingress_node *ingress, struct arena *arena);
/* As plan_compare_ages(), without their plans. */
bool ingress_is_older(const struct ingress_node *a, const struct ingress_node *b);

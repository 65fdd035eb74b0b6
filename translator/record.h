// SPDX-License-Identifier: Apache-2.0
/*
 * Reads a record of the graph: as the struct of its kind, as its key, and an Ingress or Service as the owner that diagnostics name. Nothing is
 * changed; the caller makes sure that the record exists.
 */
#pragma once

#include "translator/diag.h"
#include "translator/graph.h"

/* For any kind but RECORD_NONE. */
enum node_kind record_node_kind(enum record_kind kind);
const struct schema *record_schema(enum record_kind kind);
/* Decodes into the struct of its kind; texts may point into the record. If it cannot be read now (NODE_KEPT), only the key is set.
 */
void record_read(const struct record *record, struct arena *arena, void *ret_value);
/* The ingress as an object reference, texts in the arena. */
struct object_ref ingress_ref(const struct ingress_node *ingress, struct arena *arena);
/* Like plan_compare_ages(), but without plans. */
bool ingress_is_older(const struct ingress_node *a, const struct ingress_node *b);

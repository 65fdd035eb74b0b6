// SPDX-License-Identifier: Apache-2.0
/*
 * What somebody should know of objects in manifests, with the file and line where each object stands. Keeps copies of all that it is given
 * but the names of files.
 */
#pragma once

#include "proto/model.h"
#include "watcher/manifest.h"

struct findings;

/* What somebody should know of an object. */
struct line_finding {
	enum event_type type;
	struct str kind; /* "Ingress" */
	struct str namespace;
	struct str name;
	struct str reason;
	struct str message;
	struct manifest_place place; /* file NULL: not known */
};

struct findings *findings_new(void);
void findings_free(struct findings *findings);

/* Where an object stands; the last one of its name counts. */
void findings_note_place(struct findings *findings, const char *kind, struct str namespace,
	struct str name, const struct manifest_place *place);
/* Without a place it gets the one that was noted for its object. */
void findings_add(struct findings *findings, const struct line_finding *given);
/* Sorted by place, then by object; without repetitions. Good until the next is added. */
size_t findings_list(struct findings *findings, const struct line_finding **ret_findings);

// SPDX-License-Identifier: Apache-2.0
/*
 * What somebody should know of objects in manifests, with the file and line where each object stands. Keeps copies of all that it is given
 * but the names of files.
 */
#pragma once

#include "proto/model.h"

struct findings;

struct manifest_place {
	const char *file; /* "-": standard input; NULL: not known */
	unsigned line;    /* 0: not known */
};

/* What somebody should know of an object. */
struct line_finding {
	enum event_type type;
	struct str kind; /* "Ingress" */
	struct str namespace;
	struct str name;
	struct str reason;
	struct str message;
	struct manifest_place place;
};

struct findings *findings_new(void);
void findings_free(struct findings *findings);

/* The name of a file, kept as long as the findings. */
const char *findings_file(struct findings *findings, struct str name);
/* Where an object stands; the last one of its name counts. */
void findings_note_place(struct findings *findings, struct str kind, struct str namespace,
	struct str name, const struct manifest_place *place);
/* Without a place it gets the one that was noted for its object. */
void findings_add(struct findings *findings, const struct line_finding *given);
/* Sorted by place, then by object; without repetitions. Good until the next is added. */
size_t findings_list(struct findings *findings, const struct line_finding **ret_findings);

// SPDX-License-Identifier: Apache-2.0
/*
 * Findings about objects in manifests, with the file and line of each object. Keeps copies of everything but the names of files.
 */
#pragma once

#include "proto/model.h"

struct findings;

struct manifest_place {
	const char *file; /* "-": standard input; NULL: not known */
	unsigned line;    /* 0: not known */
};

/* One finding about an object. */
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
/* Where an object is defined; the last one of its name counts. */
void findings_note_place(struct findings *findings, struct str kind, struct str namespace,
	struct str name, const struct manifest_place *place);
/* A finding without a place gets the one noted for its object. */
void findings_add(struct findings *findings, const struct line_finding *given);
/* Sorted by place, then by object; without duplicates. Valid until the next is added. */
size_t findings_list(struct findings *findings, const struct line_finding **ret_findings);

// SPDX-License-Identifier: Apache-2.0
/*
 * YAML to JSON text, as kubectl reads manifests (YAML 1.1 core types; JSON is a subset of YAML). Fractions, and integers beyond what JSON
 * readers hold exactly, become text: nothing that is read here is such a number. Anchors and aliases are followed; merge keys and keys that
 * are not text are refused. The work is linear in the text: whatever would make it more, here or in libyaml, has a limit. No I/O.
 */
#pragma once

#include "common/buf.h"

#include <stdbool.h>
#include <stddef.h>

enum {
	YAML_TEXT_MAX = 256 * 1024 * 1024, /* of a file, and of the JSON it becomes */
	YAML_DEPTH_MAX = 64,
	/* Of a document: libyaml compares each with all before it. */
	YAML_ANCHORS_MAX = 64,
	YAML_TAG_DIRECTIVES_MAX = 16,
	/* Of a file, counting aliases each time they are followed: this many nodes and bytes are free, plus FACTOR times those that are
	 * written. */
	YAML_NODES_FREE = 10000,
	YAML_NODES_FACTOR = 10,
	YAML_BYTES_FREE = 1024 * 1024,
	YAML_BYTES_FACTOR = 10,
};

struct yaml_reader;

/* `text` must stay. */
struct yaml_reader *yaml_reader_new(struct str text);
void yaml_reader_free(struct yaml_reader *reader);

struct yaml_document {
	struct buf json; /* emptied by the reader's next document */
	/* Lines, from 1: of the document, and of the elements of its list `items`. */
	unsigned line;
	unsigned *item_lines;
	size_t item_count;
};

/* The next document that is not empty. False: there is none; *ret_problem is NULL, or says what is wrong and where (allocated). */
bool yaml_next(
	struct yaml_reader *reader, const struct yaml_document **ret_document, char **ret_problem);

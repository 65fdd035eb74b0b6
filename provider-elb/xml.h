// SPDX-License-Identifier: Apache-2.0
/*
 * XML answers, read with expat into a small tree under limits; names without their namespaces, attributes and comments left out. No I/O.
 */
#pragma once

#include "common/arena.h"

#include <stddef.h>
#include <stdint.h>

enum {
	/* Of one answer; a page of 400 target groups has about half a MiB. */
	XML_LEN_MAX = 8 * 1024 * 1024,
	XML_DEPTH_MAX = 32,
	XML_ELEMENTS_MAX = 200 * 1000,
};

struct xml {
	struct str name;
	/* Of an element without children, white space at both ends removed; never absent. */
	struct str text;
	struct xml *first;
	struct xml *next;
};

/* Everything lives in the arena. NULL and a static text in *ret_problem: it is no XML, over a limit, or has a document type declaration (which could
 * define entities). */
const struct xml *xml_parse(struct str text, struct arena *arena, const char **ret_problem);

/* Wipes all texts: for answers that hold secrets. expat reads in place, and keeps no copy of a document that it gets whole. */
void xml_wipe(const struct xml *xml);

/* The first child of that name; NULL: there is none, or `xml` is NULL. */
const struct xml *xml_child(const struct xml *xml, const char *name);
/* The next of the same name as `xml`. */
const struct xml *xml_next(const struct xml *xml);
/* Walks a path: "DescribeRulesResult/Rules". */
const struct xml *xml_find(const struct xml *xml, const char *path);
/* The text of a path; absent: there is none. */
struct str xml_text(const struct xml *xml, const char *path);
/* -1: it is none, or over 2^53. */
int64_t xml_number(const struct xml *xml, const char *path);

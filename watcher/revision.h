// SPDX-License-Identifier: Apache-2.0
/*
 * Resource versions: opaque text for the server, decimal numbers in practice (Kubernetes API
 * concepts, "Resource versions"). They are compared only within one resource type of one server,
 * and only to notice that a server went backwards, as after a restore of etcd from a backup.
 */
#pragma once

#include "common/str.h"

enum { REVISION_LEN_MAX = 128 };

struct revision {
	char text[REVISION_LEN_MAX + 1]; /* empty: none */
};

/* False when it is empty, too long, or contains anything that does not belong in a query string. */
bool revision_set(struct revision *revision, struct str text);
bool revision_is_set(const struct revision *revision);
/* True when both are decimal numbers and a is the smaller one; false whenever that cannot be told.
 */
bool revision_is_older(struct str a, struct str b);

/* A compact resource version, kept for each of very many objects: eight bytes when it is a number. All zero: none. */
struct revision_kept {
	uint64_t bits; /* odd: a number; else the address of a shared text */
};

enum { REVISION_NUMBER_ROOM = 24 };

/* An empty text is none. Releases what was kept before. */
void revision_keep(struct revision_kept *kept, struct str text);
/* The text of a number is printed into `room`. */
struct str revision_text(struct revision_kept kept, char room[REVISION_NUMBER_ROOM]);

static inline bool revision_is_kept(struct revision_kept kept)
{
	return kept.bits != 0;
}

static inline bool revision_kept_eq(struct revision_kept a, struct revision_kept b)
{
	return a.bits == b.bits;
}

/* As revision_is_older(). */
bool revision_kept_is_older(struct revision_kept a, struct revision_kept b);

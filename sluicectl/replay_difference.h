// SPDX-License-Identifier: Apache-2.0
/* How two answers to the same request differ. Pure. */
#pragma once

#include "common/arena.h"
#include "sluicectl/args.h"
#include "sluicectl/replay.h"

enum replay_kind {
	REPLAY_FAILURE,  /* one of the two does not answer */
	REPLAY_STATUS,   /* and with it, what the answer is about: nothing else is compared */
	REPLAY_LOCATION, /* where it leads */
	REPLAY_BACKEND,  /* who has answered behind the controller */
	REPLAY_BODY,
	REPLAY_HEADER,
	REPLAY_KIND_COUNT,
};

struct replay_difference {
	enum replay_kind kind;
	struct str name; /* of a header */
	struct str old;  /* empty: it has none */
	struct str new;
};

struct replay_differences {
	struct replay_difference *items;
	size_t count;
};

struct replay_criteria {
	const char *backend_header;      /* names the backend; NULL: nothing does */
	const struct text_list *ignored; /* names of headers, besides those of replay_ignored.def */
	bool bodies;
};

/* Nothing for two answers that are the same. Everything is in the arena, or a view of the answers. */
struct replay_differences replay_compare(const struct replay_answer *old,
	const struct replay_answer *new, const struct replay_criteria *criteria,
	struct arena *arena);
/* The value of the answer's headers of that name; absent: it has none. */
struct str replay_header_of(
	const struct replay_answer *answer, struct str name, struct arena *arena);
/* Whether people must look at it: differences of headers alone need not matter. */
bool replay_kind_is_grave(enum replay_kind kind);
const char *replay_kind_word(enum replay_kind kind);
/* The names that are never compared, one after the other; NULL behind the last. */
const char *replay_ignored_name(size_t index);

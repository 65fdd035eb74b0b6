// SPDX-License-Identifier: Apache-2.0
/* Texts in rows of policies.h. All live in the arena. No I/O. */
#pragma once

#include "common/arena.h"
#include "proto/model.h"

enum {
	POLICIES_TEXT_LEN_MAX =
		13 * 1024, /* of a value: a command of HAProxy's socket has to hold it */
};

/* Percent-encoded, so that it ends no field, word or line, and none of the lists below. */
struct str policies_encode(struct arena *arena, struct str text);
/* Empty for an empty id. */
struct str policies_pool_name(struct arena *arena, struct str id);
struct str policies_pieces(struct arena *arena, const struct piece *pieces, size_t count);
struct str policies_conditions(
	struct arena *arena, const struct condition *conditions, size_t count);
struct str policies_changes(struct arena *arena, const struct header_change *changes, size_t count);
struct str policies_text_changes(
	struct arena *arena, const struct text_change *changes, size_t count);

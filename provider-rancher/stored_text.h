// SPDX-License-Identifier: Apache-2.0
/*
 * What Rancher's database can hold: its columns have characters of up to three bytes, so a character above U+FFFF (most emoji) anywhere
 * in a resource makes the server refuse all of it, with 409 and without a reason. No I/O.
 */
#pragma once

#include "common/arena.h"
#include "common/str.h"

/* Characters of a description. */
enum { STORED_DESCRIPTION_MAX = 1024 };

/* `text` is UTF-8. */
bool stored_text_is_good(struct str text);
/* The text with U+FFFD in place of what cannot be stored, and no longer than a description may be; `text` itself where that is so. In the
 * arena otherwise. */
struct str stored_text_description(struct str text, struct arena *arena);

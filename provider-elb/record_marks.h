// SPDX-License-Identifier: Apache-2.0
/* The TXT records that say whose a record is, see records.h. No I/O. */
#pragma once

#include "provider-elb/records.h"

enum { RECORD_MARK_TTL_S = 300 };

struct record_mark {
	struct str owner; /* absent: the record is no mark */
	struct str resource;
};

/* Views into the value, or copies in the arena. Of several values the first that is a mark. */
struct record_mark record_mark_read(const struct record *record, struct arena *arena);
/* A mark of this owner, and nothing else. */
bool record_mark_is_ours(const struct record *record, struct str owner, struct arena *arena);
/* The record of that name; `ingress` is "namespace/name". */
const struct record *record_mark_make(
	struct str name, struct str owner, struct str ingress, struct arena *arena);
/* "a-shop.example.com" with the prefix "a". */
struct str record_mark_name(struct str name, const char *prefix, struct arena *arena);
/* Whether marks with a prefix have a place in the zone; else the old form has to do. */
bool record_mark_has_place(struct str name, struct str zone);

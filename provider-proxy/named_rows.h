// SPDX-License-Identifier: Apache-2.0
/*
 * Rows of an object that stands in them under a name: policies, users. They hang on the object's user pointer. No I/O.
 */
#pragma once

#include "provider-common/state.h"
#include "provider-proxy/names.h"
#include "provider-proxy/row_set.h"

struct named_rows {
	struct name name;
	struct row_set set;
};

/* Those of the object, without any rows at first; `letter` as in names.h. They live until they are dropped. */
struct named_rows *named_rows_of(struct object *object, char letter);
/* Gives the user pointer back. The rows themselves are not touched: replace them by none before, unless they go with all others. */
void named_rows_drop(struct object *object);
/* Those of all objects of a kind; `state` may be NULL. */
void named_rows_drop_all(struct state *state, enum lb_kind kind);

// SPDX-License-Identifier: Apache-2.0
#include "provider-proxy/named_rows.h"

#include "common/xalloc.h"

#include <stdlib.h>

struct named_rows *named_rows_of(struct object *object, char letter)
{
	struct named_rows *rows = object_user(object);
	if (rows != NULL)
		return rows;
	rows = xcalloc(1, sizeof(*rows));
	rows->name = name_of(letter, object_id(object));
	object_set_user(object, rows);
	return rows;
}

void named_rows_drop(struct object *object)
{
	struct named_rows *rows = object_user(object);
	if (rows == NULL)
		return;
	object_set_user(object, NULL);
	row_set_fini(&rows->set);
	free(rows);
}

void named_rows_drop_all(struct state *state, enum lb_kind kind)
{
	struct object *object = state != NULL ? state_first(state, kind) : NULL;
	for (; object != NULL; object = state_next(state, object))
		named_rows_drop(object);
}

// SPDX-License-Identifier: Apache-2.0
#include "proto/schema_move.h"

#include "proto/schema_walk.h"

struct move {
	struct str from;
	const char *to;
};

static void move_text(const struct move *move, struct str *text)
{
	uintptr_t offset = (uintptr_t)text->p - (uintptr_t)move->from.p;
	if (text->p != NULL && offset <= move->from.len)
		text->p = move->to + offset;
}

static void move_struct(const struct move *move, const struct schema *schema, void *value);

static void move_list(
	const struct move *move, const struct schema_field *field, struct schema_list *list)
{
	bool are_texts = field->type == SCHEMA_LIST_STR;
	for (size_t i = 0; i < list->count; i++) {
		if (are_texts)
			move_text(move, (struct str *)list->items + i);
		else
			move_struct(move, field->sub, (char *)list->items + i * field->sub->size);
	}
}

static void move_member(const struct move *move, const struct schema_field *field, void *member)
{
	switch (field->type) {
	case SCHEMA_STR:
	case SCHEMA_BIN:
		move_text(move, member);
		break;
	case SCHEMA_STRUCT:
	case SCHEMA_INLINE:
		move_struct(move, field->sub, member);
		break;
	case SCHEMA_POINTER:
		if (*(void **)member != NULL)
			move_struct(move, field->sub, *(void **)member);
		break;
	case SCHEMA_LIST:
	case SCHEMA_LIST_STR:
		move_list(move, field, member);
		break;
	case SCHEMA_BOOL:
	case SCHEMA_UINT:
	case SCHEMA_REV:
	case SCHEMA_ENUM:
	case SCHEMA_LIST_ENUM:
		break;
	}
}

static void move_struct(const struct move *move, const struct schema *schema, void *value)
{
	for (size_t i = 0; i < schema->count; i++)
		move_member(move, &schema->fields[i], (char *)value + schema->fields[i].offset);
}

void schema_move(const struct schema *schema, void *value, struct str from, const char *to)
{
	const struct move move = {from, to};
	move_struct(&move, schema, value);
}

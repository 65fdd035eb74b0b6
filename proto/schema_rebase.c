// SPDX-License-Identifier: Apache-2.0
#include "proto/schema_rebase.h"

#include "proto/schema_walk.h"

struct rebase {
	struct str from;
	const char *to;
};

static void rebase_text(const struct rebase *rebase, struct str *text)
{
	uintptr_t offset = (uintptr_t)text->p - (uintptr_t)rebase->from.p;
	if (text->p != NULL && offset <= rebase->from.len)
		text->p = rebase->to + offset;
}

static void rebase_struct(const struct rebase *rebase, const struct schema *schema, void *value);

static void rebase_list(
	const struct rebase *rebase, const struct schema_field *field, struct schema_list *list)
{
	bool are_texts = field->type == SCHEMA_LIST_STR;
	for (size_t i = 0; i < list->count; i++) {
		if (are_texts)
			rebase_text(rebase, (struct str *)list->items + i);
		else
			rebase_struct(
				rebase, field->sub, (char *)list->items + i * field->sub->size);
	}
}

static void rebase_member(
	const struct rebase *rebase, const struct schema_field *field, void *member)
{
	switch (field->type) {
	case SCHEMA_STR:
	case SCHEMA_BIN:
		rebase_text(rebase, member);
		break;
	case SCHEMA_STRUCT:
	case SCHEMA_INLINE:
		rebase_struct(rebase, field->sub, member);
		break;
	case SCHEMA_POINTER:
		if (*(void **)member != NULL)
			rebase_struct(rebase, field->sub, *(void **)member);
		break;
	case SCHEMA_LIST:
	case SCHEMA_LIST_STR:
		rebase_list(rebase, field, member);
		break;
	case SCHEMA_BOOL:
	case SCHEMA_UINT:
	case SCHEMA_REV:
	case SCHEMA_ENUM:
	case SCHEMA_LIST_ENUM:
		break;
	}
}

static void rebase_struct(const struct rebase *rebase, const struct schema *schema, void *value)
{
	for (size_t i = 0; i < schema->count; i++)
		rebase_member(rebase, &schema->fields[i], (char *)value + schema->fields[i].offset);
}

void schema_rebase(const struct schema *schema, void *value, struct str from, const char *to)
{
	const struct rebase rebase = {from, to};
	rebase_struct(&rebase, schema, value);
}

// SPDX-License-Identifier: Apache-2.0
#include "provider-haproxy/users.h"

#include "provider-haproxy/policies_text.h"
#include "provider-proxy/named_rows.h"

bool users_are_of(struct str key)
{
	return str_starts_with(key, STR("user:")) || str_starts_with(key, STR("users:"));
}

struct str users_key(struct arena *arena, struct str name)
{
	return arena_printf(arena, "users:%.*s", STR_FMT(name));
}

static struct str digits_of(struct arena *arena, struct str text)
{
	static const char digits[] = "0123456789ABCDEF";
	char *out = arena_alloc(arena, 2 * text.len + 1);
	for (size_t i = 0; i < text.len; i++) {
		out[2 * i] = digits[(uint8_t)text.p[i] >> 4];
		out[2 * i + 1] = digits[(uint8_t)text.p[i] & 15];
	}
	return (struct str){out, 2 * text.len};
}

static void add_users(struct row_draft *draft, const struct named_rows *rows,
	const struct users *users, bool hides_hashes)
{
	struct arena *arena = draft->arena;
	for (size_t i = 0; i < users->users.count; i++) {
		struct str name = digits_of(arena, users->users.items[i].name);
		struct str hash = hides_hashes ? STR("hidden")
					       : policies_encode(arena, users->users.items[i].hash);
		/* A row has a value, and this is no hash of any kind. */
		if (hash.len == 0)
			hash = STR("-");
		row_draft_add(draft, ROW_RULE,
			arena_printf(arena, "user:%s:%.*s/", rows->name.text, STR_FMT(name)), hash);
	}
	/* Sorted behind the others, so it is written when they are. */
	row_draft_add(draft, ROW_RULE, users_key(arena, name_str(&rows->name)), STR("1"));
}

void users_on_change(
	struct users_rows *users, struct object *object, bool is_removed, struct arena *arena)
{
	struct named_rows *rows = named_rows_of(object, NAME_USERS);
	struct row_draft draft = {.arena = arena};
	struct users value;
	if (!is_removed) {
		state_decode(users->state, object, arena, &value);
		if (!value.missing)
			add_users(&draft, rows, &value, users->hides_hashes);
	}
	row_set_replace(&rows->set, users->rows, &draft);
	if (is_removed)
		named_rows_drop(object);
}

void users_fini(struct users_rows *users)
{
	named_rows_drop_all(users->state, LB_USERS);
}

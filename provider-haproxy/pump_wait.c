// SPDX-License-Identifier: Apache-2.0
#include "provider-haproxy/pump_wait.h"

#include "provider-haproxy/clients.h"
#include "provider-haproxy/connection.h"
#include "provider-haproxy/policies.h"
#include "provider-proxy/names.h"
#include "provider-proxy/routes.h"

bool pump_is_live(const struct engine *engine, const struct slot *slot)
{
	return slot->group->number < connection_group_count(engine->connection) &&
	       !slot->group->is_unverified;
}

/* It is wanted, and HAProxy does not have it. */
static bool is_missing(struct engine *engine, enum row_table table, struct str key)
{
	const struct row *row = rows_find(local_rows(engine->local), table, key);
	return row != NULL && row_wanted(row).p != NULL && row_has(row).p == NULL;
}

static bool is_missing_pool(void *ctx, struct str name)
{
	return is_missing(ctx, ROW_POOL, name);
}

static bool is_missing_lists(struct engine *engine, const struct row *row)
{
	struct str lists = policies_lists_of(&engine->arena, row_key(row), row_wanted(row));
	struct str users = policies_users_of(&engine->arena, row_key(row), row_wanted(row));
	struct str authorities =
		clients_authorities_of(&engine->arena, row_key(row), row_wanted(row));
	struct str client = clients_key_of(row_key(row));
	struct str other = name_is_one(NAME_ROUTE, row_key(row))
				   ? clients_row_of(&engine->arena, row_wanted(row))
				   : STR_NONE;
	return (client.p != NULL && certs_is_ask_pending(&engine->certs, client)) ||
	       (other.p != NULL && is_missing(engine, ROW_RULE, other)) ||
	       (lists.p != NULL && is_missing(engine, ROW_RULE, lists)) ||
	       (authorities.p != NULL && is_missing(engine, ROW_RULE, authorities)) ||
	       (users.p != NULL && is_missing(engine, ROW_RULE, users));
}

bool pump_has_to_wait(struct engine *engine, const struct row *row)
{
	struct str value = routes_target(row_wanted(row));
	if (value.p == NULL || str_eq_c(value, PROBE_TARGET))
		return false;
	if (row_table(row) == ROW_POOL) {
		const struct slot *slot = slots_by_name(&engine->slots, value);
		/* Until its file is written, a start from the files would lead to the endpoints of the pool that had it. */
		return slot == NULL || !pump_is_live(engine, slot) || slot->is_left;
	}
	if (row_table(row) == ROW_RULE)
		return is_missing_lists(engine, row) ||
		       policies_any_pool(row_wanted(row), is_missing_pool, engine);
	if (name_is_one(NAME_POOL, value))
		return is_missing(engine, ROW_POOL, value);
	if (name_is_one(NAME_ROUTE, value))
		return is_missing(engine, ROW_RULE, value);
	/* See routes.h. */
	bool is_decoded = name_is_one(NAME_DECODED_HOST, value);
	struct str rest = str_skip(value, 1);
	return (is_decoded || name_is_one(NAME_HOST, value)) &&
	       is_missing(engine, ROW_PREFIX,
		       arena_printf(&engine->arena, "%c%.*s/",
			       is_decoded ? NAME_DECODED_PATHS : NAME_HOST, STR_FMT(rest)));
}

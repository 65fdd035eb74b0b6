// SPDX-License-Identifier: Apache-2.0
#include "provider-haproxy/clients.h"

#include "provider-haproxy/policies_text.h"
#include "provider-proxy/names.h"

#include <inttypes.h>

static const struct str prefix = STR("client:");
static const char unasked[] = "unasked";

static void add_authority(
	struct row_draft *draft, const struct name *name, const char *word, struct str pem)
{
	if (!str_is_empty(pem))
		row_draft_add(draft, ROW_RULE,
			arena_printf(draft->arena, "authorities:%s:%s", name->text, word),
			policies_encode(draft->arena, pem));
}

const char *clients_write(struct str key, const struct client_tls *client, struct row_draft *draft)
{
	static const char *const ways[] = {[CLIENT_VERIFY_REQUIRED] = "required",
		[CLIENT_VERIFY_OPTIONAL] = "optional",
		[CLIENT_VERIFY_ASKED] = "asked"};
	struct arena *arena = draft->arena;
	struct str subject = policies_encode(arena, client->subject);
	struct str location =
		policies_pieces(arena, client->error_location.items, client->error_location.count);
	struct str content = arena_printf(
		arena, "%.*s\n%.*s\n%.*s", STR_FMT(key), STR_FMT(client->ca), STR_FMT(client->crl));
	struct name name = name_of(NAME_AUTHORITY, content);
	if (str_ends_with(key, STR(":*")))
		return "HAProxy can ask for certificates of clients only where a host has a name";
	if (policies_encode(arena, client->ca).len > POLICIES_TEXT_LEN_MAX ||
		policies_encode(arena, client->crl).len > POLICIES_TEXT_LEN_MAX ||
		subject.len + location.len > POLICIES_TEXT_LEN_MAX / 2)
		return "what it wants of its clients' certificates is too long for HAProxy";
	add_authority(draft, &name, "ca", client->ca);
	add_authority(draft, &name, "crl", client->crl);
	row_draft_add(draft, ROW_RULE, arena_printf(arena, "client:%.*s/", STR_FMT(key)),
		arena_printf(arena, "%s|%" PRIu64 "|%.*s|%.*s|%s|%s",
			client->unasked ? unasked : ways[client->verify],
			client->depth != 0 ? (uint64_t)client->depth : 1, STR_FMT(subject),
			STR_FMT(location), client->passed ? "p" : "",
			str_is_empty(client->ca) ? "" : name.text));
	return NULL;
}

struct str clients_key_of(struct str row_key)
{
	if (!str_starts_with(row_key, prefix) || !str_ends_with(row_key, STR("/")))
		return STR_NONE;
	struct str key = str_skip(row_key, prefix.len);
	key.len--;
	return key;
}

bool clients_are_asked(struct str value)
{
	return !str_starts_with(value, str_from(unasked));
}

struct str clients_authorities_of(struct arena *arena, struct str key, struct str value)
{
	struct str name = {value.p, NAME_LEN};
	if (clients_key_of(key).p == NULL || value.len <= NAME_LEN)
		return STR_NONE;
	name.p += value.len - NAME_LEN;
	return name_is_one(NAME_AUTHORITY, name)
		       ? arena_printf(arena, "authorities:%.*s:ca", STR_FMT(name))
		       : STR_NONE;
}

struct str clients_row_of(struct arena *arena, struct str value)
{
	for (const char *at = str_find(value, '@'); at != NULL; at = str_find(value, '@')) {
		value = str_skip(value, (size_t)(at - value.p) + 1);
		struct str key = {value.p, 0};
		/* As it is, or encoded in a way of several. */
		while (key.len < value.len && value.p[key.len] != '|' && value.p[key.len] != '%')
			key.len++;
		struct str balancer = {key.p, key.len < NAME_LEN ? key.len : NAME_LEN};
		if (name_is_one(NAME_LOAD_BALANCER, balancer))
			return arena_printf(arena, "client:%.*s/", STR_FMT(key));
	}
	return STR_NONE;
}

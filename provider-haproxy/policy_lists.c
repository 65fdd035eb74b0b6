// SPDX-License-Identifier: Apache-2.0
#include "provider-haproxy/policy_lists.h"

#include "common/buf.h"
#include "common/must.h"
#include "provider-haproxy/policies_text.h"
#include "provider-haproxy/text.h"
#include "provider-proxy/checks.h"

#include <inttypes.h>
#include <stdio.h>

/* ---- who is asked ---- */

static struct str names_text(struct arena *arena, const struct str_list *names)
{
	struct str text = STR("");
	for (size_t i = 0; i < names->count; i++) {
		struct str one = policies_encode(arena, names->items[i]);
		text = arena_printf(
			arena, "%.*s%s%.*s", STR_FMT(text), i != 0 ? "&" : "", STR_FMT(one));
	}
	return text;
}

static struct str cache_text(struct arena *arena, const struct external_auth *auth)
{
	struct str text = STR("");
	for (size_t i = 0; i < auth->cache_times.count; i++)
		text = arena_printf(arena, "%.*s%s%" PRIu64 ";%" PRIu64, STR_FMT(text),
			i != 0 ? "&" : "", auth->cache_times.items[i].status,
			auth->cache_times.items[i].seconds);
	return text;
}

static struct str auth_text(struct arena *arena, const struct external_auth *auth)
{
	struct str pool = policies_pool_name(arena, auth->pool);
	struct str method = str_is_empty(auth->method) ? STR("GET") : auth->method;
	struct str host = policies_pieces(arena, auth->host.items, auth->host.count);
	struct str target = policies_pieces(arena, auth->target.items, auth->target.count);
	struct str changes =
		policies_changes(arena, auth->request_headers.items, auth->request_headers.count);
	struct str copied = names_text(arena, &auth->copied);
	struct str sign_in = policies_pieces(arena, auth->sign_in.items, auth->sign_in.count);
	struct str key = policies_pieces(arena, auth->cache_key.items, auth->cache_key.count);
	struct str times = cache_text(arena, auth);
	return arena_printf(arena, "%.*s|%.*s|%.*s|%.*s|%.*s|%.*s|%.*s|%s|%.*s|%.*s", STR_FMT(pool),
		STR_FMT(method), STR_FMT(host), STR_FMT(target), STR_FMT(changes), STR_FMT(copied),
		STR_FMT(sign_in), auth->cookies_always ? "a" : "", STR_FMT(key), STR_FMT(times));
}

/* ---- their name ---- */

static void add_texts(struct buf *content, const char *word, const struct str_list *texts)
{
	for (size_t i = 0; i < texts->count; i++)
		text_add(content, "%s %.*s\n", word, STR_FMT(texts->items[i]));
}

static struct name name_of_lists(const struct policy_lists *lists, const struct name *policy)
{
	enum { CONTENT_LEN_MAX = 16 * 1024 * 1024 };
	struct buf content;
	buf_init(&content, CONTENT_LEN_MAX);
	text_add(&content, "%s %.*s\n", policy->text, STR_FMT(lists->auth));
	add_texts(&content, "cors", &lists->origins);
	add_texts(&content, "exempt", &lists->exempt);
	add_texts(&content, "deny", &lists->deny);
	add_texts(&content, "allow", &lists->allow);
	struct name name = name_of(NAME_LISTS, buf_str(&content));
	buf_fini(&content);
	return name;
}

struct policy_lists policy_lists_of(struct arena *arena, const struct name *name,
	const struct policy *policy, const struct cors *cors)
{
	struct policy_lists lists = {.auth = STR_NONE};
	if (policy->external_auth != NULL)
		lists.auth = auth_text(arena, policy->external_auth);
	if (cors != NULL)
		lists.origins = cors->origins;
	if (policy->rate_limits != NULL)
		lists.exempt = policy->rate_limits->exempt;
	if (policy->source_access != NULL) {
		lists.deny = policy->source_access->deny;
		lists.allow = policy->source_access->allow;
	}
	lists.name = name_of_lists(&lists, name);
	return lists;
}

struct str policy_lists_key(struct arena *arena, struct str name)
{
	return arena_printf(arena, "lists:%.*s", STR_FMT(name));
}

/* ---- rows ---- */

struct list {
	struct row_draft *draft;
	const char *name;
};

static void add(struct list *list, struct str key)
{
	row_draft_add(list->draft, ROW_RULE, key, STR("1"));
}

/* What the addresses of the network begin with. A length that is no multiple of four makes as many rows as there are last digits. */
static void add_network(struct list *list, const char *word, struct str network)
{
	struct arena *arena = list->draft->arena;
	struct check_cidr cidr;
	char digits[33];
	must(check_cidr(network, &cidr));
	for (unsigned i = 0; i < 16; i++)
		snprintf(digits + 2 * i, 3, "%02X", cidr.ip.bytes[i]);
	int whole = (int)cidr.bits / 4;
	unsigned rest = cidr.bits % 4;
	struct str key = arena_printf(arena, "%s:%s:%c%.*s", word, list->name,
		cidr.ip.family == AF_INET ? '4' : '6', whole, digits);
	if (rest == 0) {
		add(list, key);
		return;
	}
	unsigned byte = cidr.ip.bytes[whole / 2];
	unsigned first = whole % 2 == 0 ? byte >> 4 : byte & 15;
	for (unsigned i = 0; i < 1U << (4 - rest); i++)
		add(list, arena_printf(arena, "%.*s%X", STR_FMT(key), first + i));
}

static void add_networks(struct list *list, const char *word, const struct str_list *networks)
{
	for (size_t i = 0; i < networks->count; i++)
		add_network(list, word, networks->items[i]);
}

static void add_origins(struct list *list, const struct str_list *origins)
{
	for (size_t i = 0; i < origins->count; i++)
		add(list, arena_printf(list->draft->arena, "cors:%s:%.*s/", list->name,
				  STR_FMT(origins->items[i])));
}

void policy_lists_add(const struct policy_lists *lists, struct row_draft *draft)
{
	struct arena *arena = draft->arena;
	struct list list = {draft, lists->name.text};
	if (lists->auth.p != NULL)
		row_draft_add(
			draft, ROW_RULE, arena_printf(arena, "auth:%s", list.name), lists->auth);
	add_origins(&list, &lists->origins);
	add_networks(&list, "exempt", &lists->exempt);
	add_networks(&list, "deny", &lists->deny);
	add_networks(&list, "allow", &lists->allow);
	/* Sorted behind the others, so it is written when they are. */
	add(&list, policy_lists_key(arena, name_str(&lists->name)));
}

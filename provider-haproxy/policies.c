// SPDX-License-Identifier: Apache-2.0
#include "provider-haproxy/policies.h"

#include "provider-proxy/checks.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	/* HAProxy keeps 1024 bytes (tune.maxrewrite) free for headers that it adds to an answer; the rest is for the names, and for what it counts for
	 * each of them. */
	ANSWER_TEXT_LEN_MAX = 640,
	MAX_AGE_LEN = 24,
};

/* ---- texts ---- */

static bool is_plain(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       (c != 0 && strchr("-._~/:?=&,*@();!", c) != NULL);
}

/* Percent-encoded, so that it ends no field, word or line. */
static struct str encode(struct arena *arena, struct str text)
{
	static const char digits[] = "0123456789ABCDEF";
	char *out = arena_alloc(arena, 3 * text.len + 1);
	size_t len = 0;
	for (size_t i = 0; i < text.len; i++) {
		uint8_t byte = (uint8_t)text.p[i];
		if (is_plain(text.p[i])) {
			out[len++] = text.p[i];
			continue;
		}
		out[len++] = '%';
		out[len++] = digits[byte >> 4];
		out[len++] = digits[byte & 15];
	}
	return (struct str){out, len};
}

static struct str number(struct arena *arena, uint64_t value)
{
	return arena_printf(arena, "%" PRIu64, value);
}

/* ---- policies ---- */

static bool are_networks(const struct str_list *networks)
{
	struct check_cidr cidr;
	for (size_t i = 0; i < networks->count; i++) {
		if (!check_cidr(networks->items[i], &cidr))
			return false;
	}
	return true;
}

/* Whether HAProxy has room for the headers, whatever the answer. */
static bool has_room(const struct cors *cors)
{
	return cors->methods.len + cors->headers.len + cors->expose_headers.len <=
	       ANSWER_TEXT_LEN_MAX;
}

static struct str hsts_text(struct arena *arena, const struct hsts *hsts)
{
	return encode(arena,
		arena_printf(arena, "max-age=%" PRIu64 "%s%s", hsts->max_age_s,
			hsts->subdomains ? "; includeSubDomains" : "",
			hsts->preload ? "; preload" : ""));
}

static struct str cors_text(struct arena *arena, const struct cors *cors)
{
	struct str methods = encode(arena, cors->methods);
	struct str headers = encode(arena, cors->headers);
	struct str exposed = encode(arena, cors->expose_headers);
	struct str age = cors->max_age_s != 0 ? number(arena, cors->max_age_s) : STR("");
	return arena_printf(arena, "%.*s|%.*s|%.*s|%.*s", STR_FMT(methods), STR_FMT(headers),
		STR_FMT(exposed), STR_FMT(age));
}

static struct str flags_of(
	struct arena *arena, const struct policy *policy, const struct cors *cors)
{
	const struct source_access *access = policy->source_access;
	return arena_printf(arena, "-%s%s%s%s%s%s%s", policy->https_redirect != 0 ? "s" : "",
		policy->hsts != NULL ? "h" : "", cors != NULL && cors->any_origin ? "o" : "",
		cors != NULL && !cors->any_origin ? "c" : "",
		cors != NULL && cors->credentials ? "k" : "",
		access != NULL && access->deny.count != 0 ? "d" : "",
		access != NULL && access->allow.count != 0 ? "a" : "");
}

struct str policies_text(struct arena *arena, const struct policy *policy)
{
	const struct source_access *access = policy->source_access;
	const struct cors *cors =
		policy->cors != NULL && has_room(policy->cors) ? policy->cors : NULL;
	if (access != NULL && (!are_networks(&access->deny) || !are_networks(&access->allow)))
		return STR_NONE;
	struct str flags = flags_of(arena, policy, cors);
	struct str hsts = policy->hsts != NULL ? hsts_text(arena, policy->hsts) : STR("");
	struct str port = policy->https_port != 0
				  ? arena_printf(arena, ":%" PRIu64, policy->https_port)
				  : STR("");
	return arena_printf(arena, "%.*s||%" PRIu64 "|%.*s|%.*s||%.*s", STR_FMT(flags),
		policy->https_redirect, STR_FMT(port), STR_FMT(hsts),
		STR_FMT(cors != NULL ? cors_text(arena, cors) : STR("|||")));
}

/* ---- lists ---- */

struct list {
	struct arena *arena;
	const struct name *policy;
	struct policies_row *rows;
	size_t count;
};

static void add(struct list *list, struct str key)
{
	struct policies_row *row =
		arena_push(list->arena, (void **)&list->rows, &list->count, sizeof(*row));
	*row = (struct policies_row){key, STR("1")};
}

/* What the addresses of the network begin with. A length that is no multiple of four makes as many rows as there are last digits. */
static void add_network(struct list *list, const char *word, struct str network)
{
	struct check_cidr cidr;
	char digits[33];
	if (!check_cidr(network, &cidr))
		return;
	for (unsigned i = 0; i < 16; i++)
		snprintf(digits + 2 * i, 3, "%02X", cidr.ip.bytes[i]);
	int whole = (int)cidr.bits / 4;
	unsigned rest = cidr.bits % 4;
	struct str key = arena_printf(list->arena, "%s:%s:%c%.*s", word, list->policy->text,
		cidr.ip.family == AF_INET ? '4' : '6', whole, digits);
	if (rest == 0) {
		add(list, key);
		return;
	}
	unsigned byte = cidr.ip.bytes[whole / 2];
	unsigned first = whole % 2 == 0 ? byte >> 4 : byte & 15;
	for (unsigned i = 0; i < 1U << (4 - rest); i++)
		add(list, arena_printf(list->arena, "%.*s%X", STR_FMT(key), first + i));
}

static void add_networks(struct list *list, const char *word, const struct str_list *networks)
{
	for (size_t i = 0; i < networks->count; i++)
		add_network(list, word, networks->items[i]);
}

/* An origin is found by what requests write, so another grammar than theirs finds nothing. */
static bool is_origin(struct str origin)
{
	for (size_t i = 0; i < origin.len; i++) {
		if (origin.p[i] <= 0x20 || origin.p[i] >= 0x7f)
			return false;
	}
	return origin.len != 0;
}

static int by_key(const void *a, const void *b)
{
	const struct policies_row *x = a;
	const struct policies_row *y = b;
	return str_cmp(x->key, y->key);
}

static size_t drop_duplicates(struct policies_row *rows, size_t count)
{
	size_t kept = 0;
	if (count > 1)
		qsort(rows, count, sizeof(*rows), by_key);
	for (size_t i = 0; i < count; i++) {
		if (kept == 0 || !str_eq(rows[kept - 1].key, rows[i].key))
			rows[kept++] = rows[i];
	}
	return kept;
}

size_t policies_lists(struct arena *arena, const struct name *name, const struct policy *policy,
	struct policies_row **ret_rows)
{
	struct list list = {.arena = arena, .policy = name};
	const struct cors *cors = policy->cors;
	for (size_t i = 0; cors != NULL && !cors->any_origin && i < cors->origins.count; i++) {
		struct str origin = cors->origins.items[i];
		if (is_origin(origin))
			add(&list, arena_printf(arena, "cors:%s:%.*s/", name->text, STR_FMT(origin)));
	}
	if (policy->source_access != NULL) {
		add_networks(&list, "deny", &policy->source_access->deny);
		add_networks(&list, "allow", &policy->source_access->allow);
	}
	*ret_rows = list.rows;
	return drop_duplicates(list.rows, list.count);
}

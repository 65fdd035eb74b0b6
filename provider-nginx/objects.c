// SPDX-License-Identifier: Apache-2.0
#include "provider-nginx/objects.h"

#include "common/must.h"
#include "common/tree.h"
#include "common/xalloc.h"
#include "provider-proxy/checks.h"
#include "provider-nginx/pair.h"
#include "provider-nginx/pool_text.h"
#include "provider-nginx/rule_text.h"
#include "provider-nginx/speech.h"

#include <errno.h>

/* A pool, a certificate or users, by name. */
struct item {
	RB_ENTRY(item) node;
	struct name name;
	struct object *object;
	char **hosts; /* of a certificate: hosts that have a row */
	size_t host_count;
	bool is_checked;      /* a pool with health checks */
	uint32_t space;       /* likewise: digest of its namespace, which shares in them */
	struct speech speech; /* of a pool */
};

RB_HEAD(item_tree, item);

struct objects {
	struct rows *rows;
	struct notices *notices;
	struct externals *externals;
	struct speaker *speaker;
	struct item_tree items;
	char **defaults; /* keys of default certificates' rows */
	size_t default_count;
	bool has_new_checks; /* the row that lists checked pools may be outdated */
	struct arena arena;
	struct buf text;
};

static int compare_items(const struct item *a, const struct item *b)
{
	return strcmp(a->name.text, b->name.text);
}

RB_GENERATE_LOCAL(item_tree, item, node, compare_items)

static struct str key_of(struct objects *objects, const char *kind, struct str rest)
{
	return arena_parts(&objects->arena, STR_PARTS(str_from(kind), STR(":"), rest));
}

static struct item *item_of(struct objects *objects, struct object *object)
{
	struct item *item = object_user(object);
	if (item != NULL)
		return item;
	enum lb_kind kind = object_kind(object);
	char letter = kind == LB_POOL    ? NAME_POOL
		      : kind == LB_USERS ? NAME_USERS
					 : NAME_CERTIFICATE;
	item = xcalloc(1, sizeof(*item));
	item->name = name_of(letter, object_id(object));
	item->object = object;
	struct item *other = RB_INSERT(item_tree, &objects->items, item);
	must(other == NULL);
	object_set_user(object, item);
	return item;
}

static void drop_item(struct objects *objects, struct item *item)
{
	RB_REMOVE(item_tree, &objects->items, item);
	object_set_user(item->object, NULL);
	for (size_t i = 0; i < item->host_count; i++)
		free(item->hosts[i]);
	speech_fini(&item->speech);
	free(item->hosts);
	free(item);
}

/* ---- pools ---- */

static void tell_problem(struct objects *objects, const struct item *item, const struct pool *pool,
	struct str problem)
{
	notices_clear(objects->notices, "pool", name_str(&item->name));
	if (problem.p == NULL)
		return;
	struct notice_owner owner = notice_of_pool(pool, &objects->arena);
	notices_set(
		objects->notices, "pool", name_str(&item->name), &owner, "PoolRefused", problem);
}

static void update_pool(struct objects *objects, struct state *state, struct object *object)
{
	struct pool pool;
	struct item *item = item_of(objects, object);
	struct str problem = STR_NONE;
	struct str refused = STR_NONE;
	state_take_decoded(state, object, &objects->arena, &pool);
	externals_settle(objects->externals, &pool, &objects->arena);
	objects->has_new_checks |= item->is_checked != (pool.health_check != NULL);
	item->is_checked = pool.health_check != NULL;
	item->space = item->is_checked ? (uint32_t)name_digest(&pool.service.namespace, 1) : 0;
	struct str protocol = speech_settle(
		objects->speaker, &item->speech, &item->name, &pool, &objects->arena, &refused);
	if (protocol.p == NULL) {
		protocol = STR("proto http\n");
		pool.endpoints.count = 0;
	}
	buf_clear(&objects->text);
	pool_text_append(&pool, protocol, &objects->arena, &objects->text, &problem);
	rows_want(objects->rows, ROW_WHOLE, key_of(objects, "pool", name_str(&item->name)),
		buf_str(&objects->text));
	tell_problem(objects, item, &pool, refused.p != NULL ? refused : problem);
}

void objects_on_pool(struct objects *objects, struct state *state, struct object *pool)
{
	update_pool(objects, state, pool);
	arena_reset(&objects->arena);
}

bool objects_set_live(struct objects *objects, struct state *state, struct str conf)
{
	struct item *item;
	bool any = false;
	trusts_set_live(speaker_trusts(objects->speaker), conf);
	if (!objects_are_waiting(objects))
		return false;
	RB_FOREACH (item, item_tree, &objects->items) {
		if (!speech_can_change(objects->speaker, &item->speech))
			continue;
		update_pool(objects, state, item->object);
		arena_reset(&objects->arena);
		any = true;
	}
	return any;
}

bool objects_are_waiting(const struct objects *objects)
{
	return speaker_is_waiting(objects->speaker);
}

struct trusts *objects_trusts(struct objects *objects)
{
	return speaker_trusts(objects->speaker);
}

/* ---- certificates ---- */

/* Removes hosts that the certificate no longer has, unless another one has taken them over. */
static void drop_hosts(struct objects *objects, struct item *item)
{
	for (size_t i = 0; i < item->host_count; i++) {
		struct str key = key_of(objects, "sni", str_from(item->hosts[i]));
		if (str_eq(rows_wanted(objects->rows, ROW_WHOLE, key), name_str(&item->name)))
			rows_want(objects->rows, ROW_WHOLE, key, STR_NONE);
		free(item->hosts[i]);
	}
	free(item->hosts);
	item->hosts = NULL;
	item->host_count = 0;
}

static void update_certificate(struct objects *objects, struct state *state, struct object *object)
{
	struct certificate certificate;
	char text[PAIR_DIGEST_LEN];
	struct item *item = item_of(objects, object);
	state_decode(state, object, &objects->arena, &certificate);
	bool is_there = !str_is_empty(certificate.chain);
	struct str digest = pair_digest(certificate.chain, certificate.private_key, text);
	rows_want(objects->rows, ROW_WHOLE, key_of(objects, "cert", name_str(&item->name)),
		is_there ? digest : STR_NONE);
	drop_hosts(objects, item);
	/* nginx would refuse it: the default is served for its hosts. */
	if (!is_there)
		certificate.hosts.count = 0;
	item->hosts = xcalloc(certificate.hosts.count + 1, sizeof(char *));
	for (size_t i = 0; i < certificate.hosts.count; i++) {
		struct str host = certificate.hosts.items[i];
		if (!check_host(host) && !check_wildcard(host))
			continue;
		item->hosts[item->host_count++] = str_dup(host);
		rows_want(objects->rows, ROW_WHOLE, key_of(objects, "sni", host),
			name_str(&item->name));
	}
}

/* ---- users ---- */

/* Names and hashes as nginx gets them. -EMSGSIZE: too many. */
static int append_users(
	struct objects *objects, struct state *state, struct object *object, struct buf *out)
{
	struct users users;
	state_decode(state, object, &objects->arena, &users);
	return users.missing || rule_text_users(&users, out) ? 0 : -EMSGSIZE;
}

/* Without a row policies that name them are closed. */
static void update_users(struct objects *objects, struct state *state, struct object *object)
{
	char digest[PAIR_DIGEST_LEN];
	struct item *item = item_of(objects, object);
	struct buf text;
	buf_init(&text, USERS_TEXT_LEN_MAX);
	bool fits = append_users(objects, state, object, &text) == 0 && buf_len(&text) != 0;
	rows_want(objects->rows, ROW_WHOLE, key_of(objects, "users", name_str(&item->name)),
		fits ? pair_digest(buf_str(&text), STR_NONE, digest) : STR_NONE);
	buf_wipe_fini(&text);
}

static const char *word_of(enum lb_kind kind)
{
	return kind == LB_POOL ? "pool" : kind == LB_USERS ? "users" : "cert";
}

static void remove_object(struct objects *objects, struct object *object)
{
	struct item *item = object_user(object);
	if (item == NULL)
		return;
	bool is_pool = object_kind(object) == LB_POOL;
	objects->has_new_checks |= item->is_checked;
	drop_hosts(objects, item);
	speech_drop(objects->speaker, &item->speech, &item->name, &objects->arena);
	if (is_pool)
		externals_drop(objects->externals, object_id(object));
	notices_clear(objects->notices, "pool", name_str(&item->name));
	rows_want(objects->rows, ROW_WHOLE,
		key_of(objects, word_of(object_kind(object)), name_str(&item->name)), STR_NONE);
	drop_item(objects, item);
}

/* A single row lists all pools with health checks. */
static void update_checked(struct objects *objects)
{
	struct item *item;
	buf_clear(&objects->text);
	RB_FOREACH (item, item_tree, &objects->items) {
		if (item->is_checked &&
			buf_printf(&objects->text, "=%08x %s ", item->space, item->name.text) != 0)
			break;
	}
	rows_want(objects->rows, ROW_WHOLE, STR("checked"),
		buf_len(&objects->text) != 0 ? buf_str(&objects->text) : STR_NONE);
	objects->has_new_checks = false;
}

/* ---- default certificates ---- */

static bool is_among(char *const *keys, size_t count, const char *key)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(keys[i], key) == 0)
			return true;
	}
	return false;
}

static void collect_defaults(struct objects *objects, struct state *state, struct object *object,
	char **keys, size_t *count)
{
	struct load_balancer value;
	struct name name = name_of(NAME_LOAD_BALANCER, object_id(object));
	state_decode(state, object, &objects->arena, &value);
	for (size_t i = 0; i < value.listeners.count; i++) {
		const struct listener *listener = &value.listeners.items[i];
		if (str_is_empty(listener->default_certificate) || !check_port(listener->port))
			continue;
		if (*count == 1024)
			return;
		struct name certificate = name_of(NAME_CERTIFICATE, listener->default_certificate);
		char *key = xasprintf("default:%s:%u", name.text, (unsigned)listener->port);
		rows_want(objects->rows, ROW_WHOLE, str_from(key), name_str(&certificate));
		keys[(*count)++] = key;
	}
}

static void update_defaults(struct objects *objects, struct state *state)
{
	char **keys = xcalloc(1024, sizeof(char *));
	size_t count = 0;
	struct object *object = state_first(state, LB_LOAD_BALANCER);
	for (; object != NULL; object = state_next(state, object))
		collect_defaults(objects, state, object, keys, &count);
	for (size_t i = 0; i < objects->default_count; i++) {
		if (!is_among(keys, count, objects->defaults[i]))
			rows_want(
				objects->rows, ROW_WHOLE, str_from(objects->defaults[i]), STR_NONE);
		free(objects->defaults[i]);
	}
	free(objects->defaults);
	objects->defaults = keys;
	objects->default_count = count;
}

/* ---- commits ---- */

void objects_on_commit(
	struct objects *objects, struct state *state, const struct state_commit *commit)
{
	bool has_balancer = false;
	for (size_t i = 0; i < commit->change_count; i++) {
		struct object *object = commit->changes[i].object;
		enum lb_kind kind = object_kind(object);
		has_balancer = has_balancer || kind == LB_LOAD_BALANCER;
		if (kind != LB_POOL && kind != LB_CERTIFICATE && kind != LB_USERS)
			continue;
		if (commit->changes[i].type == STATE_REMOVED)
			remove_object(objects, object);
		else if (kind == LB_POOL)
			update_pool(objects, state, object);
		else if (kind == LB_USERS)
			update_users(objects, state, object);
		else
			update_certificate(objects, state, object);
		arena_reset(&objects->arena);
	}
	if (objects->has_new_checks)
		update_checked(objects);
	if (has_balancer)
		update_defaults(objects, state);
	arena_reset(&objects->arena);
}

struct rows *objects_rows(struct objects *objects)
{
	return objects->rows;
}

struct object *objects_find(const struct objects *objects, struct str name)
{
	struct item wanted;
	if (name.len != NAME_LEN)
		return NULL;
	memcpy(wanted.name.text, name.p, NAME_LEN);
	wanted.name.text[NAME_LEN] = 0;
	struct item *item =
		RB_FIND(item_tree, (struct item_tree *)(uintptr_t)&objects->items, &wanted);
	return item != NULL ? item->object : NULL;
}

static const struct str certificate_key = {"cert:", 5};
static const struct str client_prefix = {"client:", 7};
static const struct str users_prefix = {"users:", 6};

struct pair {
	struct str chain;
	struct str key;
};

static struct pair certificate_pair(
	struct objects *objects, struct state *state, struct object *object)
{
	struct certificate value;
	state_decode(state, object, &objects->arena, &value);
	return (struct pair){value.chain, value.private_key};
}

static struct pair client_pair(struct objects *objects, struct state *state, struct object *object)
{
	struct pool value;
	state_decode(state, object, &objects->arena, &value);
	return value.tls != NULL ? (struct pair){value.tls->client_chain, value.tls->client_key}
				 : (struct pair){STR_NONE, STR_NONE};
}

static int users_value(
	struct objects *objects, struct state *state, const struct row *row, struct buf *out)
{
	char digest[PAIR_DIGEST_LEN];
	size_t before = buf_len(out);
	struct object *object = objects_find(objects, str_skip(row_key(row), users_prefix.len));
	int err = object != NULL ? append_users(objects, state, object, out) : -ENOENT;
	struct str text = str_skip(buf_str(out), before);
	if (err == 0 && !str_eq(pair_digest(text, STR_NONE, digest), row_wanted(row)))
		err = -ENOENT;
	arena_reset(&objects->arena);
	return err;
}

int objects_value(
	struct objects *objects, struct state *state, const struct row *row, struct buf *out)
{
	struct str key = row_key(row);
	if (str_starts_with(key, users_prefix))
		return users_value(objects, state, row, out);
	bool is_client = str_starts_with(key, client_prefix);
	if (!is_client && !str_starts_with(key, certificate_key))
		return buf_append_str(out, row_wanted(row));
	struct str name = str_skip(key, is_client ? client_prefix.len : certificate_key.len);
	if (name.len > NAME_LEN)
		name.len = NAME_LEN;
	struct object *object = objects_find(objects, name);
	if (object == NULL)
		return -ENOENT;
	struct pair pair = is_client ? client_pair(objects, state, object)
				     : certificate_pair(objects, state, object);
	char digest[PAIR_DIGEST_LEN];
	/* Nothing is left of a client certificate that is no longer wanted. */
	bool is_it = pair.chain.p != NULL &&
		     str_eq(pair_digest(pair.chain, pair.key, digest), row_wanted(row));
	int err = is_it ? buf_printf(out, "%zu\n", pair.chain.len) : -ENOENT;
	if (err == 0)
		err = buf_append_str(out, pair.chain);
	if (err == 0)
		err = buf_append_str(out, pair.key);
	arena_reset(&objects->arena);
	return err;
}

struct str objects_row_value(struct str key, struct str value, char text[PAIR_DIGEST_LEN])
{
	bool is_pair = str_starts_with(key, certificate_key) || str_starts_with(key, client_prefix);
	if (value.p != NULL && str_starts_with(key, users_prefix))
		return pair_digest(value, STR_NONE, text);
	if (value.p == NULL || !is_pair)
		return value;
	const char *end = str_find(value, '\n');
	int64_t len = 0;
	struct str rest = end != NULL ? str_skip(value, (size_t)(end - value.p) + 1) : STR("");
	if (end == NULL || !str_to_int((struct str){value.p, (size_t)(end - value.p)}, 0,
				   (int64_t)rest.len, &len))
		return STR("?");
	return pair_digest((struct str){rest.p, (size_t)len}, str_skip(rest, (size_t)len), text);
}

struct objects *objects_new(
	struct notices *notices, struct externals *externals, bool has_system_ca)
{
	struct objects *objects = xcalloc(1, sizeof(*objects));
	objects->rows = rows_new();
	objects->notices = notices;
	objects->externals = externals;
	objects->speaker = speaker_new(objects->rows, has_system_ca);
	RB_INIT(&objects->items);
	arena_init(&objects->arena);
	buf_init(&objects->text, POOL_TEXT_LEN_MAX);
	return objects;
}

void objects_free(struct objects *objects)
{
	if (objects == NULL)
		return;
	struct item *item;
	while ((item = RB_ROOT(&objects->items)) != NULL)
		drop_item(objects, item);
	for (size_t i = 0; i < objects->default_count; i++)
		free(objects->defaults[i]);
	free(objects->defaults);
	speaker_free(objects->speaker);
	rows_free(objects->rows);
	arena_fini(&objects->arena);
	buf_fini(&objects->text);
	free(objects);
}

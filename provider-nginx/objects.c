// SPDX-License-Identifier: Apache-2.0
#include "provider-nginx/objects.h"

#include "common/must.h"
#include "common/tree.h"
#include "common/xalloc.h"
#include "provider-local/checks.h"
#include "provider-local/trust.h"
#include "provider-nginx/pool_text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

/* A pool or a certificate by its name. */
struct item {
	RB_ENTRY(item) node;
	struct name name;
	struct object *object;
	char **hosts; /* of a certificate: those that have a row */
	size_t host_count;
	bool is_checked;       /* a pool with health checks */
	uint8_t plain;         /* of a pool without TLS: 1 + protocol in its row; 0: none */
	struct spoken *spoken; /* of a pool with TLS */
};

/* How TLS is spoken: as it is wanted, and as the pool's row says while nginx does not know the CA yet. */
struct spoken {
	struct name wanted; /* in trusts.h */
	struct name shown;  /* likewise */
	struct name client; /* certificate in the row `client:`, as it is wanted */
	struct name shown_client;
	char *shown_protocol; /* lines of the row; NULL: there is none */
	bool is_waiting;
};

RB_HEAD(item_tree, item);

struct objects {
	struct rows *rows;
	struct notices *notices;
	struct externals *externals;
	struct trusts *trusts;
	size_t waiting_count;
	bool has_system_ca;
	struct item_tree items;
	char **defaults; /* keys of the rows of default certificates */
	size_t default_count;
	bool has_new_checks; /* the row of checked pools may be out of date */
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
	return arena_printf(&objects->arena, "%s:%.*s", kind, STR_FMT(rest));
}

static struct item *item_of(struct objects *objects, struct object *object)
{
	struct item *item = object_user(object);
	if (item != NULL)
		return item;
	char letter = object_kind(object) == LB_POOL ? NAME_POOL : NAME_CERTIFICATE;
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
	if (item->spoken != NULL)
		free(item->spoken->shown_protocol);
	free(item->spoken);
	free(item->hosts);
	free(item);
}

static struct str digest_text(struct str chain, struct str key, char text[OBJECTS_DIGEST_LEN])
{
	/* Read back from nginx, what is absent is empty. */
	struct str parts[] = {chain.p != NULL ? chain : STR(""), key.p != NULL ? key : STR("")};
	int len = snprintf(text, OBJECTS_DIGEST_LEN, "%016" PRIx64, name_digest(parts, 2));
	return (struct str){text, (size_t)len};
}

/* ---- TLS to pools ---- */

static struct str client_key(
	struct objects *objects, const struct item *item, const struct name *client)
{
	return arena_printf(&objects->arena, "client:%s:%s", item->name.text, client->text);
}

static void want_client(struct objects *objects, const struct item *item, const struct name *client,
	const struct pool_tls *tls)
{
	char text[OBJECTS_DIGEST_LEN];
	if (client->text[0] == 0)
		return;
	struct str value =
		tls != NULL ? digest_text(tls->client_chain, tls->client_key, text) : STR_NONE;
	rows_want(objects->rows, ROW_WHOLE, client_key(objects, item, client), value);
}

/* The row says from now on what is wanted. */
static void show(struct objects *objects, const struct item *item, struct str protocol)
{
	struct spoken *spoken = item->spoken;
	trusts_drop(objects->trusts, &spoken->shown);
	trusts_use(objects->trusts, &spoken->wanted, STR_NONE);
	if (strcmp(spoken->shown_client.text, spoken->client.text) != 0)
		want_client(objects, item, &spoken->shown_client, NULL);
	spoken->shown = spoken->wanted;
	spoken->shown_client = spoken->client;
	free(spoken->shown_protocol);
	spoken->shown_protocol = str_dup(protocol);
}

static void set_waiting(struct objects *objects, struct spoken *spoken, bool is_waiting)
{
	objects->waiting_count += is_waiting;
	objects->waiting_count -= spoken->is_waiting;
	spoken->is_waiting = is_waiting;
}

static const char *read_trust(
	const struct objects *objects, const struct pool *pool, struct trust *ret_trust)
{
	if (pool->tls == NULL)
		return NULL;
	if (pool->tls->verify == TLS_VERIFY_SYSTEM && !objects->has_system_ca)
		return "this machine has no list of authorities that it trusts";
	return trust_of(pool->tls, ret_trust);
}

static void want_trust(struct objects *objects, struct spoken *spoken, const struct pool *pool,
	const struct trust *trust, bool is_refused)
{
	static const struct name system = {POOL_TEXT_SYSTEM};
	struct name old = spoken->wanted;
	struct str content = STR_NONE;
	spoken->wanted = trust->ca;
	if (pool->tls->verify == TLS_VERIFY_SYSTEM && !is_refused)
		spoken->wanted = system;
	buf_clear(&objects->text);
	if (trust->ca.text[0] != 0 && trust_ca_content(pool->tls, &objects->text) == 0)
		content = buf_str(&objects->text);
	trusts_use(objects->trusts, &spoken->wanted, content);
	trusts_drop(objects->trusts, &old);
	spoken->client = trust->client;
}

static struct str next_word(struct str *line)
{
	const char *end = str_find(*line, ' ');
	struct str word = {line->p, end != NULL ? (size_t)(end - line->p) : line->len};
	*line = str_skip(*line, word.len + (end != NULL ? 1 : 0));
	return word;
}

static void copy_name(struct str word, struct name *ret_name)
{
	if (word.len <= NAME_LEN && !str_eq_c(word, "-") && !str_eq_c(word, "off"))
		str_put(ret_name->text, word);
}

/* What is spoken by the row that nginx has had since before our start, as pool_text_protocol() writes it. */
static void adopt(struct objects *objects, struct item *item)
{
	static const char end_mark[] = "\nalgo ";
	static const char tls_mark[] = "\ntls ";
	struct spoken *spoken = item->spoken;
	struct row *row =
		rows_find(objects->rows, ROW_WHOLE, key_of(objects, "pool", name_str(&item->name)));
	struct str text = row != NULL ? row_has(row) : STR_NONE;
	const char *end = text.p != NULL ? memmem(text.p, text.len, end_mark, 6) : NULL;
	if (end == NULL)
		return;
	struct str lines = {text.p, (size_t)(end - text.p)};
	spoken->shown_protocol = str_dup((struct str){lines.p, lines.len + 1});
	const char *tls = memmem(lines.p, lines.len, tls_mark, sizeof(tls_mark) - 1);
	if (tls == NULL)
		return;
	struct str words = str_skip(lines, (size_t)(tls - lines.p) + sizeof(tls_mark) - 1);
	copy_name(next_word(&words), &spoken->shown);
	(void)next_word(&words);
	copy_name(next_word(&words), &spoken->shown_client);
	trusts_use(objects->trusts, &spoken->shown, STR_NONE);
	if (spoken->shown_client.text[0] == 0)
		return;
	struct str key = client_key(objects, item, &spoken->shown_client);
	row = rows_find(objects->rows, ROW_WHOLE, key);
	if (row != NULL && row_has(row).p != NULL)
		rows_want(objects->rows, ROW_WHOLE, key, arena_str(&objects->arena, row_has(row)));
}

static struct spoken *spoken_of(struct objects *objects, struct item *item)
{
	if (item->spoken != NULL)
		return item->spoken;
	item->spoken = xcalloc(1, sizeof(*item->spoken));
	if (item->plain == 0) {
		adopt(objects, item);
	} else {
		struct pool plain = {.protocol = (enum pool_protocol)(item->plain - 1)};
		item->spoken->shown_protocol =
			str_dup(pool_text_protocol(&plain, NULL, &objects->arena));
	}
	item->plain = 0;
	return item->spoken;
}

static void drop_spoken(struct objects *objects, struct item *item)
{
	struct spoken *spoken = item->spoken;
	if (spoken == NULL)
		return;
	set_waiting(objects, spoken, false);
	want_client(objects, item, &spoken->client, NULL);
	want_client(objects, item, &spoken->shown_client, NULL);
	trusts_drop(objects->trusts, &spoken->wanted);
	trusts_drop(objects->trusts, &spoken->shown);
	free(spoken->shown_protocol);
	free(spoken);
	item->spoken = NULL;
}

/* The lines of the row that say what is spoken: what is wanted, or as long as nginx does not know the CA what was before. Absent: nobody
 * can be spoken to, for now or, with *ret_problem, for ever. */
static struct str settle_protocol(struct objects *objects, struct item *item,
	const struct pool *pool, struct str *ret_problem)
{
	struct trust trust = {0};
	if (pool->tls == NULL) {
		drop_spoken(objects, item);
		item->plain = (uint8_t)(pool->protocol + 1);
		return pool_text_protocol(pool, NULL, &objects->arena);
	}
	const char *refused = read_trust(objects, pool, &trust);
	struct spoken *spoken = spoken_of(objects, item);
	want_trust(objects, spoken, pool, &trust, refused != NULL);
	want_client(objects, item, &trust.client, pool->tls);
	bool is_live =
		spoken->wanted.text[0] == 0 || trusts_is_live(objects->trusts, &spoken->wanted);
	set_waiting(objects, spoken, !is_live);
	if (is_live)
		show(objects, item,
			refused == NULL ? pool_text_protocol(pool, &trust, &objects->arena)
					: STR(""));
	if (refused != NULL)
		*ret_problem = str_from(refused);
	return refused != NULL || spoken->shown_protocol == NULL ? STR_NONE
								 : str_from(spoken->shown_protocol);
}

/* ---- pools ---- */

static void tell_problem(struct objects *objects, const struct item *item, const struct pool *pool,
	struct str problem)
{
	notices_clear(objects->notices, "pool", name_str(&item->name));
	if (problem.p == NULL)
		return;
	struct lb_notice notice = {
		.service = arena_printf(&objects->arena, "%.*s/%.*s",
			STR_FMT(pool->service.namespace), STR_FMT(pool->service.name)),
		.reason = STR("PoolRefused"),
		.message = problem,
	};
	notices_set(objects->notices, "pool", name_str(&item->name), &notice);
}

static void update_pool(struct objects *objects, struct state *state, struct object *object)
{
	struct pool pool;
	struct item *item = item_of(objects, object);
	struct str problem = STR_NONE;
	struct str refused = STR_NONE;
	state_decode(state, object, &objects->arena, &pool);
	externals_settle(objects->externals, &pool, &objects->arena);
	objects->has_new_checks |= item->is_checked != (pool.health_check != NULL);
	item->is_checked = pool.health_check != NULL;
	struct str protocol = settle_protocol(objects, item, &pool, &refused);
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
	trusts_set_live(objects->trusts, conf);
	if (objects->waiting_count == 0)
		return false;
	RB_FOREACH (item, item_tree, &objects->items) {
		if (item->spoken == NULL || !item->spoken->is_waiting ||
			!trusts_is_live(objects->trusts, &item->spoken->wanted))
			continue;
		update_pool(objects, state, item->object);
		arena_reset(&objects->arena);
		any = true;
	}
	return any;
}

bool objects_are_waiting(const struct objects *objects)
{
	return objects->waiting_count != 0;
}

struct trusts *objects_trusts(struct objects *objects)
{
	return objects->trusts;
}

/* ---- certificates ---- */

/* Hosts that a certificate has no more, unless another one has taken them meanwhile. */
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
	char text[OBJECTS_DIGEST_LEN];
	struct item *item = item_of(objects, object);
	state_decode(state, object, &objects->arena, &certificate);
	struct str digest = digest_text(certificate.chain, certificate.private_key, text);
	rows_want(objects->rows, ROW_WHOLE, key_of(objects, "cert", name_str(&item->name)), digest);
	drop_hosts(objects, item);
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

static void remove_object(struct objects *objects, struct object *object)
{
	struct item *item = object_user(object);
	if (item == NULL)
		return;
	bool is_pool = object_kind(object) == LB_POOL;
	objects->has_new_checks |= item->is_checked;
	drop_hosts(objects, item);
	drop_spoken(objects, item);
	if (is_pool)
		externals_drop(objects->externals, object_id(object));
	notices_clear(objects->notices, "pool", name_str(&item->name));
	rows_want(objects->rows, ROW_WHOLE,
		key_of(objects, is_pool ? "pool" : "cert", name_str(&item->name)), STR_NONE);
	drop_item(objects, item);
}

/* One row names all pools with health checks. */
static void update_checked(struct objects *objects)
{
	struct item *item;
	buf_clear(&objects->text);
	RB_FOREACH (item, item_tree, &objects->items) {
		if (item->is_checked && buf_printf(&objects->text, "%s ", item->name.text) != 0)
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

/* ---- */

void objects_on_commit(
	struct objects *objects, struct state *state, const struct state_commit *commit)
{
	bool has_balancer = false;
	for (size_t i = 0; i < commit->change_count; i++) {
		struct object *object = commit->changes[i].object;
		enum lb_kind kind = object_kind(object);
		has_balancer = has_balancer || kind == LB_LOAD_BALANCER;
		if (kind != LB_POOL && kind != LB_CERTIFICATE)
			continue;
		if (commit->changes[i].type == STATE_REMOVED)
			remove_object(objects, object);
		else if (kind == LB_POOL)
			update_pool(objects, state, object);
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

int objects_value(
	struct objects *objects, struct state *state, const struct row *row, struct buf *out)
{
	struct str key = row_key(row);
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
	char digest[OBJECTS_DIGEST_LEN];
	/* Of a client certificate that is wanted no more nothing is left. */
	bool is_it = pair.chain.p != NULL &&
		     str_eq(digest_text(pair.chain, pair.key, digest), row_wanted(row));
	int err = is_it ? buf_printf(out, "%zu\n", pair.chain.len) : -ENOENT;
	if (err == 0)
		err = buf_append_str(out, pair.chain);
	if (err == 0)
		err = buf_append_str(out, pair.key);
	arena_reset(&objects->arena);
	return err;
}

struct str objects_row_value(struct str key, struct str value, char text[OBJECTS_DIGEST_LEN])
{
	bool is_pair = str_starts_with(key, certificate_key) || str_starts_with(key, client_prefix);
	if (value.p == NULL || !is_pair)
		return value;
	const char *end = str_find(value, '\n');
	int64_t len = 0;
	struct str rest = end != NULL ? str_skip(value, (size_t)(end - value.p) + 1) : STR("");
	if (end == NULL || !str_to_int((struct str){value.p, (size_t)(end - value.p)}, 0,
				   (int64_t)rest.len, &len))
		return STR("?");
	return digest_text((struct str){rest.p, (size_t)len}, str_skip(rest, (size_t)len), text);
}

struct objects *objects_new(
	struct notices *notices, struct externals *externals, bool has_system_ca)
{
	struct objects *objects = xcalloc(1, sizeof(*objects));
	objects->rows = rows_new();
	objects->notices = notices;
	objects->externals = externals;
	objects->trusts = trusts_new();
	objects->has_system_ca = has_system_ca;
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
	rows_free(objects->rows);
	trusts_free(objects->trusts);
	arena_fini(&objects->arena);
	buf_fini(&objects->text);
	free(objects);
}

// SPDX-License-Identifier: Apache-2.0
#include "provider-haproxy/assign.h"

#include "provider-proxy/backend_checks.h"

#include <stdio.h>
#include <stdlib.h>

static const char topic[] = "pool";

enum { SERVICE_KEY_LEN_MAX = 32 };

/* Takes a slot of the pool's class; if there is none, new ones are made, which can be used after a reload. */
static struct slot *take(const struct assign *assign, struct slot_class *sort,
	const struct name *pool, struct str namespace, enum slots_growth *ret_growth)
{
	struct slot *slot = slots_take(assign->slots, sort, pool);
	*ret_growth = SLOTS_GROWN;
	if (slot != NULL)
		return slot;
	size_t spare = slots_spare(sort);
	*ret_growth =
		slots_grow(assign->slots, sort, spare != 0 ? spare : 1, slots_space(namespace));
	return slots_take(assign->slots, sort, pool);
}

/* NULL, or why the pool gets no servers. */
static const char *set_words(
	const struct assign *assign, struct slot *slot, const struct pool *value)
{
	struct trust trust = {0};
	struct trust old = slot->trust;
	char *words = NULL;
	const char *refused = value->tls != NULL ? trust_of(value->tls, &trust) : NULL;
	if (value->tls != NULL && refused == NULL) {
		trust_files_use(assign->trust, &trust, value->tls);
		words = class_words_of_tls(value, &trust, &assign->paths);
	}
	slots_set_words(slot, words, &trust);
	trust_files_drop(assign->trust, &old);
	free(words);
	return refused;
}

static const char *set_servers(
	const struct assign *assign, struct slot *slot, const struct pool *value)
{
	const char *refused = set_words(assign, slot, value);
	slots_begin_servers(slot);
	for (size_t i = 0; i < value->endpoints.count && refused == NULL; i++) {
		const struct pool_endpoint *endpoint = &value->endpoints.items[i];
		struct check_ip ip;
		if (check_ip(endpoint->ip, &ip) && check_port(endpoint->port))
			slots_want_server(assign->slots, slot, &ip, (uint16_t)endpoint->port,
				endpoint->active);
	}
	slots_end_servers(assign->slots, slot);
	return refused;
}

static void tell_refused(const struct assign *assign, const struct pool *value, const char *refused)
{
	if (refused == NULL) {
		notices_clear(assign->notices, topic, value->key.id);
		return;
	}
	struct notice_owner owner = notice_of_pool(value, assign->arena);
	notices_set(
		assign->notices, topic, value->key.id, &owner, "PolicyRefused", str_from(refused));
}

static struct slot_class *plain_class(const struct assign *assign, const struct pool *value)
{
	struct pool plain = {
		.protocol = value->protocol, .algorithm = value->algorithm, .tls = value->tls};
	const char *refused;
	struct class_text text = class_of_pool(&plain, assign->cookie_key, &refused);
	struct slot_class *sort = slots_find_class(assign->slots, text.lines, text.server);
	class_text_fini(&text);
	return sort;
}

static void service_key(char out[SERVICE_KEY_LEN_MAX], const struct slot *slot)
{
	snprintf(out, SERVICE_KEY_LEN_MAX, "service:%s", slot->name);
}

static void name_service(
	const struct assign *assign, const struct slot *slot, const struct pool *value)
{
	char key[SERVICE_KEY_LEN_MAX];
	service_key(key, slot);
	bool is_named = check_host(value->service.name);
	rows_want(assign->rows, ROW_WHOLE, str_from(key),
		is_named ? arena_printf(assign->arena, "%.*s:%u", STR_FMT(value->service.name),
				   (unsigned)(check_port(value->port) ? value->port : 0))
			 : STR_NONE);
}

void assign_name_service(const struct assign *assign, const struct object *object)
{
	struct pool value;
	struct name pool = name_of(NAME_POOL, object_id(object));
	const struct slot *slot = slots_of_pool(assign->slots, &pool);
	state_decode(assign->state, object, assign->arena, &value);
	if (slot != NULL)
		name_service(assign, slot, &value);
}

void assign_forget_service(struct rows *rows, const struct slot *slot)
{
	char key[SERVICE_KEY_LEN_MAX];
	service_key(key, slot);
	rows_want(rows, ROW_WHOLE, str_from(key), STR_NONE);
}

struct slot *assign_pool(const struct assign *assign, struct object *object, struct slot **ret_left)
{
	struct pool value;
	const char *refused = NULL;
	struct name pool = name_of(NAME_POOL, object_id(object));
	state_take_decoded(assign->state, object, assign->arena, &value);
	externals_settle(assign->externals, &value, assign->arena);
	const char *unusable = backend_settle_pool(&value, assign->arena);
	struct class_text text = class_of_pool(&value, assign->cookie_key, &refused);
	if (refused == NULL && unusable != NULL)
		refused = arena_printf(assign->arena, "%s cannot be used", unusable).p;
	struct slot_class *sort = slots_find_class(assign->slots, text.lines, text.server);
	class_text_fini(&text);
	struct slot *old = slots_of_pool(assign->slots, &pool);
	enum slots_growth growth = SLOTS_GROWN;
	struct str namespace = value.service.namespace;
	struct slot *slot = take(assign, sort, &pool, namespace, &growth);
	if (slot == NULL) {
		refused = growth == SLOTS_SHARE
				  ? "its namespace has its share of different cookies and health "
				    "checks; it is served without them"
				  : "there are too many pools, or too many different cookies and "
				    "health "
				    "checks; it is served without them, or not at all";
		slot = take(assign, plain_class(assign, &value), &pool, namespace, &growth);
	}
	*ret_left = NULL;
	if (slot == NULL) {
		tell_refused(assign, &value, refused);
		return NULL;
	}
	if (old != NULL && old != slot && old->pool.text[0] != 0)
		*ret_left = old;
	const char *unspoken = set_servers(assign, slot, &value);
	tell_refused(assign, &value, unspoken != NULL ? unspoken : refused);
	rows_want(assign->rows, ROW_POOL, name_str(&pool), (struct str){slot->name, SLOT_NAME_LEN});
	if (assign->names_services)
		name_service(assign, slot, &value);
	return slot;
}

struct slot *assign_remove(const struct assign *assign, struct object *object)
{
	struct name pool = name_of(NAME_POOL, object_id(object));
	notices_clear(assign->notices, topic, object_id(object));
	externals_drop(assign->externals, object_id(object));
	return slots_of_pool(assign->slots, &pool);
}

void assign_provide(const struct assign *assign)
{
	static const struct pool common[] = {
		{.protocol = POOL_HTTP}, {.protocol = POOL_HTTPS}, {.protocol = POOL_H2C}};
	for (size_t i = 0; i < sizeof(common) / sizeof(common[0]); i++) {
		const char *refused;
		struct class_text text = class_of_pool(&common[i], assign->cookie_key, &refused);
		struct slot_class *sort = slots_find_class(assign->slots, text.lines, text.server);
		size_t wanted = i == 0 ? assign->slots_min : 1;
		class_text_fini(&text);
		sort->least = wanted;
		if (sort->slot_count < wanted)
			(void)slots_grow(assign->slots, sort, wanted - sort->used_count, 0);
	}
}

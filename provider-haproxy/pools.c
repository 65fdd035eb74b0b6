// SPDX-License-Identifier: Apache-2.0
#include "common/xalloc.h"
#include "provider-haproxy/class.h"
#include "provider-haproxy/engine.h"

static const char topic[] = "pool";

/* A thread of HAProxy may have looked up the row just before it changed, and choose a server a little later. */
static const double leave_after_s = 0.25;

static struct str row_key_of(struct engine *engine, const struct name *pool)
{
	return arena_printf(&engine->arena, "pool:%s", pool->text);
}

static void cancel_leaving(struct engine *engine, const struct slot *slot)
{
	for (size_t i = 0; i < engine->leaving_count; i++) {
		if (engine->leaving[i].slot != slot)
			continue;
		engine->leaving[i] = engine->leaving[--engine->leaving_count];
		return;
	}
}

static void leave(struct engine *engine, struct slot *slot, bool is_pool_gone)
{
	/* One that is left twice must not be taken from whoever gets it meanwhile. */
	cancel_leaving(engine, slot);
	engine->leaving =
		xreallocarray(engine->leaving, engine->leaving_count + 1, sizeof(*engine->leaving));
	engine->leaving[engine->leaving_count++] =
		(struct leaving){.slot = slot, .pool = slot->pool, .is_pool_gone = is_pool_gone};
}

static bool is_shown(struct engine *engine, const struct leaving *leaving)
{
	struct str key = row_key_of(engine, &leaving->pool);
	const struct row *row = rows_find(local_rows(engine->local), ROW_WHOLE, key);
	return row != NULL && str_eq_c(row_has(row), leaving->slot->name);
}

/* Nothing has led there for long enough. Of a pool that is gone it is known only when no row is on its way that might be a route to it. */
static bool is_forgotten(struct engine *engine, struct leaving *leaving, bool has_dirty_rows)
{
	ev_tstamp now = ev_now(engine->loop);
	bool is_led_to = leaving->is_pool_gone ? has_dirty_rows : is_shown(engine, leaving);
	if (is_led_to) {
		leaving->since = 0;
		return false;
	}
	if (leaving->since == 0)
		leaving->since = now;
	return now - leaving->since >= leave_after_s;
}

static bool may_be_emptied(struct engine *engine, struct leaving *leaving, bool has_dirty_rows)
{
	if (!is_forgotten(engine, leaving, has_dirty_rows))
		return false;
	if (!leaving->is_pool_gone)
		return true;
	leaving->is_pool_gone = false;
	leaving->since = ev_now(engine->loop);
	rows_want(
		local_rows(engine->local), ROW_WHOLE, row_key_of(engine, &leaving->pool), STR_NONE);
	return false;
}

static void on_leave(struct ev_loop *loop, ev_timer *watcher, int events)
{
	struct engine *engine = watcher->data;
	(void)events;
	ev_timer_stop(loop, watcher);
	ev_timer_set(watcher, leave_after_s, 0.);
	pools_finish_leaving(engine);
	engine_step(engine);
}

void pools_init(struct engine *engine)
{
	ev_timer_init(&engine->leave, on_leave, leave_after_s, 0.);
	engine->leave.data = engine;
}

void pools_fini(struct engine *engine)
{
	ev_timer_stop(engine->loop, &engine->leave);
	free(engine->leaving);
}

void pools_finish_leaving(struct engine *engine)
{
	/* Before pools' rows become dirty here. */
	bool has_dirty_rows = rows_dirty_count(local_rows(engine->local)) != 0;
	size_t kept = 0;
	bool is_waiting = false;
	for (size_t i = 0; i < engine->leaving_count; i++) {
		struct leaving *leaving = &engine->leaving[i];
		if (may_be_emptied(engine, leaving, has_dirty_rows)) {
			slots_leave(&engine->slots, leaving->slot);
			continue;
		}
		is_waiting = is_waiting || leaving->since != 0;
		engine->leaving[kept++] = *leaving;
	}
	if (is_waiting && !ev_is_active(&engine->leave))
		ev_timer_start(engine->loop, &engine->leave);
	if (engine->leaving_count != kept)
		engine_want_flush(engine);
	engine->leaving_count = kept;
}

/* A slot of the pool's sort; new ones are made when there is none, and can be used after a reload. */
static struct slot *take(struct engine *engine, struct slot_class *sort, const struct name *pool)
{
	struct slot *slot = slots_take(&engine->slots, sort, pool);
	if (slot != NULL)
		return slot;
	/* So many at once that reloads become rare the more there are; other classes than the common ones have few. */
	size_t more = sort->is_common ? SLOTS_PER_GROUP + sort->used_count / 2 : 1;
	slots_grow(&engine->slots, sort, more);
	engine->is_main_stale = true;
	return slots_take(&engine->slots, sort, pool);
}

static void set_servers(struct engine *engine, struct slot *slot, const struct pool *value)
{
	slots_begin_servers(slot);
	for (size_t i = 0; i < value->endpoints.count; i++) {
		const struct pool_endpoint *endpoint = &value->endpoints.items[i];
		struct check_ip ip;
		if (check_ip(endpoint->ip, &ip) && check_port(endpoint->port))
			slots_want_server(&engine->slots, slot, &ip, (uint16_t)endpoint->port,
				endpoint->active);
	}
	slots_end_servers(&engine->slots, slot);
}

static void tell_refused(struct engine *engine, const struct pool *value, const char *refused)
{
	if (refused == NULL) {
		notices_clear(local_notices(engine->local), topic, value->key.id);
		return;
	}
	struct lb_notice notice = {
		.service = arena_printf(&engine->arena, "%.*s/%.*s",
			STR_FMT(value->service.namespace), STR_FMT(value->service.name)),
		.reason = STR("PolicyRefused"),
		.message = str_from(refused),
	};
	notices_set(local_notices(engine->local), topic, value->key.id, &notice);
}

static struct slot_class *plain_class(struct engine *engine, const struct pool *value)
{
	struct pool plain = {.protocol = value->protocol, .algorithm = value->algorithm};
	const char *refused;
	struct class_text text = class_of_pool(&plain, engine->config->cookie_key, &refused);
	struct slot_class *sort = slots_find_class(&engine->slots, text.lines, text.server);
	class_text_fini(&text);
	return sort;
}

static void update(struct engine *engine, struct object *object)
{
	struct pool value;
	const char *refused = NULL;
	struct name pool = name_of(NAME_POOL, object_id(object));
	state_decode(local_state(engine->local), object, &engine->arena, &value);
	struct class_text text = class_of_pool(&value, engine->config->cookie_key, &refused);
	struct slot_class *sort = slots_find_class(&engine->slots, text.lines, text.server);
	class_text_fini(&text);
	struct slot *old = slots_of_pool(&engine->slots, &pool);
	struct slot *slot = take(engine, sort, &pool);
	if (slot == NULL) {
		refused = "there are too many pools, or too many different cookies and health "
			  "checks; it is served without them, or not at all";
		slot = take(engine, plain_class(engine, &value), &pool);
	}
	tell_refused(engine, &value, refused);
	if (slot == NULL)
		return;
	cancel_leaving(engine, slot);
	if (old != NULL && old != slot && old->pool.text[0] != 0)
		leave(engine, old, false);
	set_servers(engine, slot, &value);
	rows_want(local_rows(engine->local), ROW_WHOLE, row_key_of(engine, &pool),
		(struct str){slot->name, SLOT_NAME_LEN});
}

static void remove_pool(struct engine *engine, struct object *object)
{
	struct name pool = name_of(NAME_POOL, object_id(object));
	struct slot *slot = slots_of_pool(&engine->slots, &pool);
	notices_clear(local_notices(engine->local), topic, object_id(object));
	if (slot != NULL)
		leave(engine, slot, true);
}

void pools_on_change(struct engine *engine, struct object *object, bool is_removed)
{
	if (is_removed)
		remove_pool(engine, object);
	else
		update(engine, object);
	engine_want_flush(engine);
}

static void remember(void *ctx, struct str key, struct str value)
{
	struct engine *engine = ctx;
	struct str prefix = STR("pool:");
	struct name pool;
	struct slot *slot = slots_by_name(&engine->slots, value);
	if (slot == NULL || !str_starts_with(key, prefix) ||
		!name_is_one(NAME_POOL, str_skip(key, prefix.len)))
		return;
	memcpy(pool.text, key.p + prefix.len, NAME_LEN);
	pool.text[NAME_LEN] = 0;
	slots_reserve(&engine->slots, slot, &pool);
}

void pools_remember(struct engine *engine)
{
	/* Without the file every pool gets a slot anew. */
	(void)rowfile_read(engine->files[ROW_WHOLE], remember, engine);
}

void pools_provide(struct engine *engine)
{
	static const struct pool common[] = {
		{.protocol = POOL_HTTP}, {.protocol = POOL_HTTPS}, {.protocol = POOL_H2C}};
	for (size_t i = 0; i < sizeof(common) / sizeof(common[0]); i++) {
		const char *refused;
		struct class_text text =
			class_of_pool(&common[i], engine->config->cookie_key, &refused);
		struct slot_class *sort = slots_find_class(&engine->slots, text.lines, text.server);
		size_t wanted = i == 0 ? (size_t)engine->config->slots : 1;
		class_text_fini(&text);
		if (sort->slot_count < wanted)
			slots_grow(&engine->slots, sort, wanted - sort->used_count);
	}
}

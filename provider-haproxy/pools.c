// SPDX-License-Identifier: Apache-2.0
#include "provider-haproxy/pools.h"

#include "common/clock.h"
#include "common/xalloc.h"
#include "provider-haproxy/assign.h"
#include "provider-haproxy/connection.h"
#include "provider-haproxy/disk.h"
#include "provider-haproxy/log_events.h"

#include <errno.h>

/* A thread of HAProxy may have read the row just before it changed, and choose a server a little later. */
static const double leave_after_s = 0.25;

/* Routes to a pool are removed first, then its row, then its servers, with time in between for requests being routed. */
struct leaving {
	struct slot *slot;
	struct name pool;
	bool is_pool_gone; /* its row still exists */
	ev_tstamp since;   /* when no row led there any more; 0: one may */
};

struct pools {
	struct engine *engine;
	struct leaving *leaving;
	size_t leaving_count;
	ev_timer leave; /* when the next released slot may be emptied */
};

static struct assign assign_of(struct engine *engine)
{
	return (struct assign){
		.slots = &engine->slots,
		.state = local_state(engine->local),
		.rows = local_rows(engine->local),
		.notices = local_notices(engine->local),
		.arena = &engine->arena,
		.trust = &engine->trust,
		.externals = local_externals(engine->local),
		.paths = {.state_dir = engine->config->local.state_dir,
			.system_ca = engine->config->trusted_certificates},
		.cookie_key = engine->config->cookie_key,
		.names_services = engine->names_services,
		.slots_min = (size_t)engine->config->slots,
	};
}

static void cancel_leaving(struct pools *pools, const struct slot *slot)
{
	for (size_t i = 0; i < pools->leaving_count; i++) {
		if (pools->leaving[i].slot != slot)
			continue;
		pools->leaving[i] = pools->leaving[--pools->leaving_count];
		return;
	}
}

static void leave(struct pools *pools, struct slot *slot, bool is_pool_gone)
{
	/* If a slot is released twice, its next pool must not lose it. */
	cancel_leaving(pools, slot);
	pools->leaving =
		xreallocarray(pools->leaving, pools->leaving_count + 1, sizeof(*pools->leaving));
	pools->leaving[pools->leaving_count++] =
		(struct leaving){.slot = slot, .pool = slot->pool, .is_pool_gone = is_pool_gone};
}

static bool is_shown(struct engine *engine, const struct leaving *leaving)
{
	const struct row *row =
		rows_find(local_rows(engine->local), ROW_POOL, name_str(&leaving->pool));
	/* What a former release has put into tables of its own is not known. */
	return !connection_has_maps(engine->connection) ||
	       (row != NULL && str_eq_c(row_has(row), leaving->slot->name));
}

/* Whether nothing has led there for long enough. For a removed pool this is certain only while no pending row might be a route to it. */
static bool is_forgotten(struct engine *engine, struct leaving *leaving, bool has_dirty_rows)
{
	double now = clock_monotonic_s();
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
	leaving->since = clock_monotonic_s();
	rows_want(local_rows(engine->local), ROW_POOL, name_str(&leaving->pool), STR_NONE);
	return false;
}

static void on_leave(struct ev_loop *loop, ev_timer *watcher, int events)
{
	struct pools *pools = watcher->data;
	ev_timer_stop(loop, watcher);
	ev_timer_set(watcher, leave_after_s, 0.);
	pools_finish_leaving(pools->engine);
	engine_wake(pools->engine);
}

struct pools *pools_new(struct engine *engine)
{
	struct pools *pools = xcalloc(1, sizeof(*pools));
	pools->engine = engine;
	ev_timer_init(&pools->leave, on_leave, leave_after_s, 0.);
	pools->leave.data = pools;
	return pools;
}

void pools_free(struct pools *pools)
{
	ev_timer_stop(pools->engine->loop, &pools->leave);
	free(pools->leaving);
	free(pools);
}

size_t pools_leaving_count(const struct pools *pools)
{
	return pools->leaving_count;
}

void pools_finish_leaving(struct engine *engine)
{
	struct pools *pools = engine->pools;
	/* Counted before pools' rows become dirty here. */
	bool has_dirty_rows = rows_dirty_count(local_rows(engine->local)) != 0;
	size_t kept = 0;
	bool is_waiting = false;
	for (size_t i = 0; i < pools->leaving_count; i++) {
		struct leaving *leaving = &pools->leaving[i];
		if (may_be_emptied(engine, leaving, has_dirty_rows)) {
			struct trust old = leaving->slot->trust;
			assign_forget_service(local_rows(engine->local), leaving->slot);
			slots_leave(&engine->slots, leaving->slot);
			slots_set_words(leaving->slot, NULL, NULL);
			trust_files_drop(&engine->trust, &old);
			continue;
		}
		is_waiting = is_waiting || leaving->since != 0;
		pools->leaving[kept++] = *leaving;
	}
	if (is_waiting && !ev_is_active(&pools->leave))
		ev_timer_start(engine->loop, &pools->leave);
	if (pools->leaving_count != kept)
		disk_want_flush(engine->disk);
	pools->leaving_count = kept;
}

void pools_on_change(struct engine *engine, struct object *object, bool is_removed)
{
	struct assign assign = assign_of(engine);
	uint64_t layout_changes = engine->slots.layout_changes;
	struct slot *left = NULL;
	bool is_due = true;
	if (is_removed) {
		left = assign_remove(&assign, object);
	} else {
		struct slot *slot = assign_pool(&assign, object, &left);
		if (slot != NULL)
			cancel_leaving(engine->pools, slot);
		is_due = slot == NULL || left != NULL || slot->group->is_due;
	}
	if (left != NULL)
		leave(engine->pools, left, is_removed);
	if (engine->slots.layout_changes != layout_changes)
		main_file_set_stale(engine->main_file);
	if (is_due)
		disk_want_flush(engine->disk);
	else
		disk_want_late_flush(engine->disk);
}

static bool names(const struct trust *trust, const struct name *name)
{
	return strcmp(trust->ca.text, name->text) == 0 ||
	       strcmp(trust->client.text, name->text) == 0;
}

void pools_refill_trust(struct engine *engine, const struct name *name)
{
	struct state *state = local_state(engine->local);
	struct object *object = state_first(state, LB_POOL);
	struct arena arena;
	bool is_found = false;
	arena_init(&arena);
	for (; object != NULL && !is_found; object = state_next(state, object)) {
		struct pool value;
		struct trust trust = {0};
		state_decode(state, object, &arena, &value);
		is_found = value.tls != NULL && trust_of(value.tls, &trust) == NULL &&
			   names(&trust, name);
		if (is_found)
			trust_files_refill(&engine->trust, name, value.tls);
		arena_reset(&arena);
	}
	arena_fini(&arena);
}

static bool is_named(const struct name *name, struct str output)
{
	return name->text[0] != 0 && memmem(output.p, output.len, name->text, NAME_LEN) != NULL;
}

static bool refuse_servers(struct engine *engine, struct slot *slot)
{
	bool any = false;
	struct server *server = slot_first_server(slot);
	for (; server != NULL; server = slot_next_server(server)) {
		any = any || (server->is_wanted && !server->is_refused);
		server->is_refused = true;
	}
	slots_touch(slot);
	slots_settle(&engine->slots, slot);
	return any;
}

bool pools_leave_out(struct engine *engine, struct str output)
{
	bool any = false;
	for (size_t i = 0; i < engine->slots.group_count && output.len != 0; i++) {
		struct group *group = engine->slots.groups[i];
		for (size_t j = 0; j < group->size; j++) {
			struct slot *slot = &group->slots[j];
			if (is_named(&slot->trust.ca, output) ||
				is_named(&slot->trust.client, output))
				any = refuse_servers(engine, slot) || any;
		}
	}
	return any;
}

static void remember(void *ctx, struct str key, struct str value)
{
	struct engine *engine = ctx;
	struct name pool;
	struct slot *slot = slots_by_name(&engine->slots, value);
	if (slot == NULL || !name_is_one(NAME_POOL, key))
		return;
	memcpy(pool.text, key.p, NAME_LEN);
	pool.text[NAME_LEN] = 0;
	slots_reserve(&engine->slots, slot, &pool);
}

static void remember_former(void *ctx, struct str key, struct str value)
{
	if (str_starts_with(key, STR("pool:")))
		remember(ctx, str_skip(key, 5), value);
}

bool pools_remember(struct engine *engine, struct rowfile *map)
{
	return rowfile_read(map, remember, engine) != -ENOENT;
}

void pools_remember_former(struct engine *engine, struct rowfile *map)
{
	(void)rowfile_read(map, remember_former, engine);
}

void pools_name_services(struct engine *engine)
{
	struct assign assign = assign_of(engine);
	struct object *object = state_first(assign.state, LB_POOL);
	for (; object != NULL; object = state_next(assign.state, object)) {
		assign_name_service(&assign, object);
		arena_reset(&engine->arena);
	}
}

void pools_provide(struct engine *engine)
{
	struct assign assign = assign_of(engine);
	assign_provide(&assign);
}

bool pools_release_idle(struct engine *engine)
{
	size_t count = slots_release_idle(&engine->slots);
	if (count == 0)
		return false;
	log_event(&EV_SLOTS_RELEASED, LOG_INT("groups", (int64_t)count));
	main_file_set_stale(engine->main_file);
	return true;
}

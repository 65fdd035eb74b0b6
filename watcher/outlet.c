// SPDX-License-Identifier: Apache-2.0
#include "watcher/outlet.h"

#include "common/must.h"
#include "common/xalloc.h"

/* ---- the queue ---- */

static void enqueue(struct outlet *outlet, struct store_object *object)
{
	struct outlet_change *change = xcalloc(1, sizeof(*change));
	change->object = object;
	TAILQ_INSERT_TAIL(&outlet->queue, change, link);
	object->queued = change;
	outlet->queue_len++;
}

static void dequeue(struct outlet *outlet, struct store_object *object)
{
	struct outlet_change *change = object->queued;
	must(change != NULL);
	TAILQ_REMOVE(&outlet->queue, change, link);
	outlet->queue_len--;
	object->queued = NULL;
	free(change);
}

static struct store_object *take_first(struct outlet *outlet)
{
	struct store_object *object = TAILQ_FIRST(&outlet->queue)->object;
	dequeue(outlet, object);
	return object;
}

static void clear_queue(struct outlet *outlet)
{
	while (!TAILQ_EMPTY(&outlet->queue)) {
		struct store_object *object = take_first(outlet);
		if (object->is_gone)
			store_object_free(object);
	}
}

/* ---- events of the store ---- */

static void on_put(void *ctx, struct store_object *object, enum store_change change)
{
	struct outlet *outlet = ctx;
	if (change == STORE_SAME || !outlet->has_begun || object->queued != NULL)
		return;
	/* The snapshot will still reach this object; new objects must not make the snapshot longer. */
	bool is_ahead = change == STORE_CHANGED && !outlet->snapshot_done && !object->is_sent;
	if (!is_ahead)
		enqueue(outlet, object);
}

static void on_remove(void *ctx, struct store_object *object)
{
	struct outlet *outlet = ctx;
	if (outlet->next == object)
		outlet->next = store_next(object);
	object->is_gone = outlet->has_begun && object->is_sent;
	if (object->is_gone && object->queued == NULL)
		enqueue(outlet, object);
	else if (!object->is_gone && object->queued != NULL)
		dequeue(outlet, object);
}

/* ---- lifecycle ---- */

void outlet_init(
	struct outlet *outlet, struct store *store, const struct outlet_ops *ops, void *ctx)
{
	struct store_observer observer = {.on_put = on_put, .on_remove = on_remove, .ctx = outlet};
	*outlet = (struct outlet){.store = store, .ops = ops, .ctx = ctx};
	TAILQ_INIT(&outlet->queue);
	store_observe(store, &observer);
}

void outlet_fini(struct outlet *outlet)
{
	clear_queue(outlet);
}

void outlet_set_settings(struct outlet *outlet, const struct source_settings *settings)
{
	must(settings->kinds.count <= OUTLET_KINDS_MAX);
	outlet->settings = *settings;
	outlet->has_settings = true;
	outlet_flush(outlet);
}

void outlet_link_up(struct outlet *outlet)
{
	outlet_link_down(outlet);
	outlet->is_up = true;
	outlet_flush(outlet);
}

void outlet_link_down(struct outlet *outlet)
{
	clear_queue(outlet);
	outlet->is_up = false;
	outlet->settings_sent = false;
	outlet->has_begun = false;
	outlet->snapshot_done = false;
	outlet->next = NULL;
}

void outlet_set_whole(struct outlet *outlet)
{
	outlet->is_whole = true;
	outlet_flush(outlet);
}

/* ---- sending ---- */

static enum record_kind kind_at(const struct outlet *outlet, size_t at)
{
	return (enum record_kind)outlet->settings.kinds.items[at];
}

static void begin_snapshot(struct outlet *outlet)
{
	for (size_t i = 0; i < outlet->settings.kinds.count; i++) {
		struct store_object *object = store_first(outlet->store, kind_at(outlet, i));
		for (; object != NULL; object = store_next(object))
			object->is_sent = false;
	}
	outlet->has_begun = true;
	outlet->kind_at = 0;
	outlet->kind_begun = false;
}

static void send_object(struct outlet *outlet, struct store_object *object)
{
	outlet->ops->send_object(outlet->ctx, object);
	object->is_sent = true;
	if (object->is_gone)
		store_object_free(object);
}

/* The next object of the snapshot that is not queued. */
static struct store_object *find_next(const struct outlet *outlet)
{
	struct store_object *object = outlet->next;
	while (object != NULL && object->queued != NULL)
		object = store_next(object);
	return object;
}

static void send_snapshot(struct outlet *outlet)
{
	enum record_kind kind = kind_at(outlet, outlet->kind_at);
	outlet->next = outlet->kind_begun ? find_next(outlet) : store_first(outlet->store, kind);
	if (!outlet->kind_begun) {
		outlet->ops->send_mark(outlet->ctx, true, kind);
		outlet->kind_begun = true;
	} else if (outlet->next != NULL) {
		struct store_object *object = outlet->next;
		outlet->next = store_next(object);
		send_object(outlet, object);
	} else {
		outlet->ops->send_mark(outlet->ctx, false, kind);
		outlet->kind_begun = false;
		outlet->kind_at++;
	}
	if (outlet->kind_at == outlet->settings.kinds.count) {
		outlet->snapshot_done = true;
		outlet->ops->on_snapshot(outlet->ctx);
	}
}

/* True if there may be more to do. */
static bool send_one(struct outlet *outlet)
{
	if (!outlet->settings_sent) {
		outlet->ops->send_settings(outlet->ctx, &outlet->settings);
		outlet->settings_sent = true;
	} else if (!outlet->is_whole) {
		return false;
	} else if (!outlet->has_begun) {
		begin_snapshot(outlet);
	} else if (!outlet->snapshot_done) {
		send_snapshot(outlet);
	} else if (!TAILQ_EMPTY(&outlet->queue)) {
		send_object(outlet, take_first(outlet));
	} else {
		return false;
	}
	return true;
}

void outlet_flush(struct outlet *outlet)
{
	if (!outlet->is_up || !outlet->has_settings)
		return;
	while (outlet->ops->has_room(outlet->ctx) && send_one(outlet))
		;
}

// SPDX-License-Identifier: Apache-2.0
#include "watcher/outlet.h"

#include "common/must.h"
#include "proto/frame.h"
#include "proto/message.h"

/* ---- the queue ---- */

static void enqueue(struct outlet *outlet, struct store_object *object)
{
	TAILQ_INSERT_TAIL(&outlet->queue, object, queued);
	object->is_queued = true;
	outlet->queue_len++;
}

static void dequeue(struct outlet *outlet, struct store_object *object)
{
	TAILQ_REMOVE(&outlet->queue, object, queued);
	object->is_queued = false;
	outlet->queue_len--;
	if (object->is_awaited) {
		object->is_awaited = false;
		outlet->awaited[object->kind]--;
	}
}

static void clear_queue(struct outlet *outlet)
{
	struct store_object *object;
	while ((object = TAILQ_FIRST(&outlet->queue)) != NULL) {
		dequeue(outlet, object);
		if (object->is_tombstone)
			store_object_free(object);
	}
}

static void bury(struct outlet *outlet, const struct store_object *object)
{
	struct buf frame;
	struct schema_error error;
	char uid[STORE_UID_LEN_MAX];
	struct record_key key = {
		.kind = (enum record_kind)object->kind,
		.namespace = store_namespace(object),
		.name = store_name(object),
		.uid = store_uid(object, uid),
	};
	buf_init(&frame, FRAME_HEAD_LEN + FRAME_LEN_MAX);
	/* The key was within its limits when the object came in. */
	must(message_encode(MESSAGE_DELETE, &key, &frame, &error) == 0);
	struct str payload = str_skip(buf_str(&frame), FRAME_HEAD_LEN);
	enqueue(outlet, store_object_detached(outlet->store, key.kind, payload));
	buf_fini(&frame);
}

/* ---- what the store tells ---- */

static void on_put(void *ctx, struct store_object *object, enum store_change change)
{
	struct outlet *outlet = ctx;
	if (change != STORE_SAME && outlet->has_begun && !object->is_queued)
		enqueue(outlet, object);
}

static void on_remove(void *ctx, struct store_object *object)
{
	struct outlet *outlet = ctx;
	if (object->is_queued)
		dequeue(outlet, object);
	if (outlet->has_begun && object->is_sent)
		bury(outlet, object);
}

/* ---- life ---- */

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
}

void outlet_set_whole(struct outlet *outlet)
{
	outlet->is_whole = true;
	outlet_flush(outlet);
}

/* ---- sending ---- */

static void begin_snapshot(struct outlet *outlet)
{
	memset(outlet->awaited, 0, sizeof(outlet->awaited));
	for (size_t i = 0; i < outlet->settings.kinds.count; i++) {
		enum record_kind kind = (enum record_kind)outlet->settings.kinds.items[i];
		struct store_object *object = store_first(outlet->store, kind);
		for (; object != NULL; object = store_next(object)) {
			object->is_sent = false;
			object->is_awaited = true;
			outlet->awaited[kind]++;
			enqueue(outlet, object);
		}
	}
	outlet->has_begun = true;
	outlet->kind_at = 0;
	outlet->kind_begun = false;
}

static void send_first(struct outlet *outlet)
{
	struct store_object *object = TAILQ_FIRST(&outlet->queue);
	dequeue(outlet, object);
	outlet->ops->send_payload(outlet->ctx, store_payload(outlet->store, object));
	if (object->is_tombstone)
		store_object_free(object);
	else
		object->is_sent = true;
}

/* Objects of the snapshot stand in front of everything that changed since, in the order of their
 * kinds; so a kind ends as soon as its awaited ones are gone, however much goes on changing. */
static void send_snapshot(struct outlet *outlet)
{
	enum record_kind kind = (enum record_kind)outlet->settings.kinds.items[outlet->kind_at];
	if (!outlet->kind_begun) {
		outlet->ops->send_mark(outlet->ctx, true, kind);
		outlet->kind_begun = true;
	} else if (outlet->awaited[kind] != 0) {
		send_first(outlet);
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

/* True when there may be more to do. */
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
		send_first(outlet);
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

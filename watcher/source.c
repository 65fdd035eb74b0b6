// SPDX-License-Identifier: Apache-2.0
#include "watcher/source.h"

#include "common/must.h"
#include "common/version.h"
#include "common/xalloc.h"

#include <errno.h>

struct source {
	struct source_config config;
	char *path;
	struct link *link;
	struct outlet outlet;
	bool is_elected;
	struct lead lead;
	struct arena arena; /* of the message being read */
};

/* ---- to the translator ---- */

static bool has_room(void *ctx)
{
	const struct source *source = ctx;
	return link_is_up(source->link) && !link_is_full(source->link);
}

static void send_settings(void *ctx, const struct source_settings *settings)
{
	struct source *source = ctx;
	/* Options are within the limits of the message. */
	must(link_send(source->link, MESSAGE_SETTINGS, settings) == 0);
}

static void send_mark(void *ctx, bool begin, enum record_kind kind)
{
	struct source *source = ctx;
	struct sync_mark mark = {.kind = kind};
	must(link_send(source->link, begin ? MESSAGE_SYNC_BEGIN : MESSAGE_SYNC_END, &mark) == 0);
}

static void send_object(void *ctx, const struct store_object *object)
{
	struct source *source = ctx;
	store_encode(object, link_out(source->link));
	link_flush(source->link);
}

static void on_snapshot(void *ctx)
{
	struct source *source = ctx;
	source->config.ops->on_snapshot(source->config.ctx);
}

static const struct outlet_ops outlet_ops = {
	.has_room = has_room,
	.send_settings = send_settings,
	.send_mark = send_mark,
	.send_object = send_object,
	.on_snapshot = on_snapshot,
};

/* ---- from the translator ---- */

static int take_status(struct source *source, struct link *link, const struct message *message)
{
	struct status_update update;
	int err = link_decode(link, message, &source->arena, &update);
	if (err == 0)
		source->config.ops->on_status(source->config.ctx, &update);
	return err;
}

static int take_event(struct source *source, struct link *link, const struct message *message)
{
	struct event_note note;
	int err = link_decode(link, message, &source->arena, &note);
	if (err == 0)
		source->config.ops->on_event(source->config.ctx, &note);
	return err;
}

static int on_message(void *ctx, struct link *link, const struct message *message)
{
	struct source *source = ctx;
	int err = -EPROTO;
	if (message->type == MESSAGE_STATUS)
		err = take_status(source, link, message);
	else if (message->type == MESSAGE_EVENT)
		err = take_event(source, link, message);
	else
		link_complain(link, "%s is not for a watcher", message_word(message->type));
	arena_reset(&source->arena);
	return err;
}

static const char *on_up(void *ctx, struct link *link, const struct hello *peer)
{
	struct source *source = ctx;
	if (source->is_elected)
		(void)link_send(link, MESSAGE_LEAD, &source->lead);
	outlet_link_up(&source->outlet);
	return NULL;
}

static void on_dry(void *ctx, struct link *link)
{
}

static void on_room(void *ctx, struct link *link)
{
	struct source *source = ctx;
	outlet_flush(&source->outlet);
}

static void on_down(void *ctx, struct link *link)
{
	struct source *source = ctx;
	outlet_link_down(&source->outlet);
}

static const struct link_ops link_ops = {
	.on_up = on_up,
	.on_message = on_message,
	.on_dry = on_dry,
	.on_room = on_room,
	.on_down = on_down,
};

/* ---- lifecycle ---- */

static void connect_link(struct source *source)
{
	source->link = link_connect(&(struct link_config){
		.loop = source->config.loop,
		.path = source->path,
		.hello =
			{
				.version_min = PROTO_VERSION_MIN,
				.version_max = PROTO_VERSION_MAX,
				.role = ROLE_WATCHER,
				.name = STR("kubernetes"),
				.software = STR("sluice-watcher " SLUICE_VERSION),
			},
		.peer_role = ROLE_TRANSLATOR,
		.ops = &link_ops,
		.ctx = source,
	});
}

struct source *source_new(const struct source_config *config)
{
	struct source *source = xcalloc(1, sizeof(*source));
	source->config = *config;
	source->path = xstrdup(config->path);
	arena_init(&source->arena);
	outlet_init(&source->outlet, config->store, &outlet_ops, source);
	connect_link(source);
	return source;
}

void source_restart(struct source *source, const char *reason)
{
	link_free(source->link, reason);
	outlet_link_down(&source->outlet);
	connect_link(source);
}

void source_free(struct source *source, const char *reason)
{
	if (source == NULL)
		return;
	link_free(source->link, reason);
	outlet_fini(&source->outlet);
	arena_fini(&source->arena);
	free(source->path);
	free(source);
}

void source_set_lead(struct source *source, uint64_t until_ms)
{
	source->is_elected = true;
	source->lead.until_ms = until_ms;
	if (link_is_up(source->link))
		(void)link_send(source->link, MESSAGE_LEAD, &source->lead);
}

struct outlet *source_outlet(struct source *source)
{
	return &source->outlet;
}

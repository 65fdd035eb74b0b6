// SPDX-License-Identifier: Apache-2.0
#include "translator/source_peer.h"

#include "common/xalloc.h"
#include "translator/log_events.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

struct source_peer {
	const struct engine_ops *ops;
	void *ctx;
	bool is_up;
	bool has_settings;
	bool is_whole;                   /* complete at least once */
	bool is_syncing;                 /* the current watcher's records are not complete */
	unsigned awaited;                /* bits: 1 << enum record_kind */
	unsigned begun;                  /* likewise: between sync-begin and sync-end */
	unsigned synced;                 /* likewise: kinds that are synced at all */
	struct source_settings settings; /* owns its texts */
	char missing[160];
};

struct source_peer *source_peer_new(const struct engine_ops *ops, void *ctx)
{
	struct source_peer *source = xcalloc(1, sizeof(*source));
	source->ops = ops;
	source->ctx = ctx;
	return source;
}

static void free_text(struct str text)
{
	free((void *)(uintptr_t)text.p);
}

static void free_settings(struct source_settings *settings)
{
	free_text(settings->ingress_class);
	free_text(settings->controller_name);
	free_text(settings->load_balancer_class);
	free_text(settings->nginx_options);
	free_text(settings->tcp_services);
	free_text(settings->udp_services);
}

void source_peer_free(struct source_peer *source)
{
	if (source == NULL)
		return;
	free_settings(&source->settings);
	free(source);
}

void source_peer_up(struct source_peer *source)
{
	source->is_up = true;
	source->has_settings = false;
	source->is_syncing = true;
	source->awaited = 0;
	source->begun = 0;
}

void source_peer_down(struct source_peer *source)
{
	source->is_up = false;
}

bool source_peer_is_up(const struct source_peer *source)
{
	return source->is_up;
}

/* ---- settings ---- */

static bool same_settings(const struct source_settings *a, const struct source_settings *b)
{
	return str_eq(a->ingress_class, b->ingress_class) &&
	       str_eq(a->controller_name, b->controller_name) &&
	       a->without_class == b->without_class &&
	       str_eq(a->load_balancer_class, b->load_balancer_class) &&
	       str_eq(a->nginx_options, b->nginx_options) &&
	       str_eq(a->tcp_services, b->tcp_services) &&
	       str_eq(a->udp_services, b->udp_services) &&
	       a->without_load_balancer_class == b->without_load_balancer_class;
}

static struct str copy_text(struct str text)
{
	return (struct str){str_dup(text), text.len};
}

static void replace_settings(struct source_peer *source, const struct source_settings *settings)
{
	free_settings(&source->settings);
	source->settings = (struct source_settings){
		.ingress_class = copy_text(settings->ingress_class),
		.controller_name = copy_text(settings->controller_name),
		.without_class = settings->without_class,
		.load_balancer_class = copy_text(settings->load_balancer_class),
		.nginx_options = copy_text(settings->nginx_options),
		.tcp_services = copy_text(settings->tcp_services),
		.udp_services = copy_text(settings->udp_services),
		.without_load_balancer_class = settings->without_load_balancer_class,
	};
	log_event(&EV_SETTINGS, LOG_TEXT("ingress_class", settings->ingress_class),
		LOG_TEXT("controller", settings->controller_name),
		LOG_STR("without_class", settings->without_class ? "true" : "false"));
}

static unsigned kinds_of(const struct source_settings *settings)
{
	unsigned kinds = 0;
	for (size_t i = 0; i < settings->kinds.count; i++) {
		int kind = settings->kinds.items[i];
		if (kind > RECORD_NONE && kind < RECORD_KIND_COUNT)
			kinds |= 1U << kind;
	}
	return kinds;
}

int source_peer_take_settings(
	struct source_peer *source, const struct source_settings *settings, bool *ret_is_news)
{
	unsigned old_kinds = source->synced;
	if (source->has_settings)
		return -EPROTO;
	source->has_settings = true;
	source->awaited = source->synced = kinds_of(settings);
	*ret_is_news = !same_settings(&source->settings, settings) || old_kinds != source->synced;
	if (*ret_is_news)
		replace_settings(source, settings);
	return 0;
}

bool source_peer_has_settings(const struct source_peer *source)
{
	return source->has_settings;
}

const struct source_settings *source_peer_settings(const struct source_peer *source)
{
	return &source->settings;
}

bool source_peer_syncs(const struct source_peer *source, enum record_kind kind)
{
	return (source->synced & 1U << kind) != 0;
}

/* ---- snapshots ---- */

int source_peer_begin(struct source_peer *source, enum record_kind kind)
{
	if (kind == RECORD_NONE || !source_peer_syncs(source, kind))
		return -EPROTO;
	source->begun |= 1U << kind;
	return 0;
}

int source_peer_end(struct source_peer *source, enum record_kind kind)
{
	if (kind == RECORD_NONE || (source->begun & 1U << kind) == 0)
		return -EPROTO;
	source->begun &= ~(1U << kind);
	source->awaited &= ~(1U << kind);
	return 0;
}

bool source_peer_complete(struct source_peer *source)
{
	if (source->awaited != 0 || !source->is_syncing)
		return false;
	source->is_syncing = false;
	source->is_whole = true;
	return true;
}

bool source_peer_is_whole(const struct source_peer *source)
{
	return source->is_whole && !source->is_syncing;
}

bool source_peer_is_known(const struct source_peer *source)
{
	return source->has_settings || source->is_whole;
}

const char *source_peer_missing(struct source_peer *source)
{
	char *text = source->missing;
	size_t room = sizeof(source->missing);
	if (!source->is_up) {
		snprintf(text, room, "%s",
			source_peer_is_whole(source) ? "the watcher; the last state stays in force"
						     : "the watcher");
		return text;
	}
	if (!source->has_settings)
		return "the settings of the watcher";
	if (!source->is_syncing)
		return NULL;
	int len = snprintf(text, room, "records of kind");
	for (int kind = RECORD_NONE + 1; kind < RECORD_KIND_COUNT; kind++) {
		if ((source->awaited & 1U << kind) != 0)
			len += snprintf(text + len, room - (size_t)len, " %s",
				record_kind_word((enum record_kind)kind));
	}
	return text;
}

/* ---- output ---- */

struct buf *source_peer_out(const struct source_peer *source)
{
	return source->ops->source_out(source->ctx);
}

void source_peer_flush(const struct source_peer *source)
{
	source->ops->source_flush(source->ctx);
}

void source_peer_noted(const struct source_peer *source, const struct event_note *note)
{
	if (source->ops->on_event != NULL)
		source->ops->on_event(source->ctx, note);
}

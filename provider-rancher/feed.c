// SPDX-License-Identifier: Apache-2.0
#include "provider-rancher/feed.h"

#include "common/backoff.h"
#include "common/version.h"
#include "common/ws.h"
#include "common/xalloc.h"
#include "provider-rancher/log_events.h"
#include "provider-rancher/rancher_url.h"

enum { MESSAGE_LEN_MAX = 16 * 1024 * 1024 };
static const double PING_AFTER_S = 5;
static const double DEAD_AFTER_S = 15;
/* Events come at most once a second for each resource, so a list may be ahead of them. */
static const double LATE_S = 5;
static const double REFUSED_S = 60;

struct feed {
	struct feed_config config;
	struct ws *ws;
	struct http_peer *peer; /* held while ws is there */
	char *url;
	ev_timer retry;
	ev_timer late; /* runs while the event for a change seen in a list is missing */
	struct backoff backoff;
	bool is_open;
	bool is_proven;
};

static void set_proven(struct feed *feed, bool is_proven)
{
	if (feed->is_proven == is_proven)
		return;
	feed->is_proven = is_proven;
	log_event(is_proven ? &EV_FEED_PROVEN : &EV_FEED_UNPROVEN);
}

bool feed_is_proven(const struct feed *feed)
{
	return feed->is_proven;
}

/* ---- events ---- */

static void on_text(void *ctx, struct str message)
{
	struct feed *feed = ctx;
	const char *problem = NULL;
	struct str name = STR_NONE;
	struct str type = STR_NONE;
	struct json *document = json_parse(message, &problem, NULL);
	if (document == NULL) {
		log_event(&EV_FEED_UNREADABLE, LOG_STR("reason", problem));
		return;
	}
	(void)json_get_str(document, "name", &name);
	(void)json_get_str(document, "resourceType", &type);
	/* "resource.change;account=..." is treated the same. */
	if (str_starts_with(name, STR("resource.change"))) {
		set_proven(feed, true);
		/* It may be the event for a change that a list has shown. */
		if (str_eq_c(type, "loadBalancerService"))
			ev_timer_stop(feed->config.client->loop, &feed->late);
		feed->config.ops->on_change(
			feed->config.ctx, type, json_path(document, "data", "resource", NULL));
	}
	/* It may contain a certificate with its key. */
	json_free_wiped(document);
}

/* ---- connection ---- */

static void on_open(void *ctx)
{
	struct feed *feed = ctx;
	feed->is_open = true;
	backoff_succeeded(&feed->backoff);
	log_event(&EV_FEED_UP);
	feed->config.ops->on_open(feed->config.ctx);
}

static void end(struct feed *feed)
{
	ws_free(feed->ws);
	http_peer_release(feed->peer);
	feed->ws = NULL;
	feed->peer = NULL;
}

static void on_closed(void *ctx, long http_status, const char *reason)
{
	struct feed *feed = ctx;
	double delay_s = backoff_next(&feed->backoff);
	log_event(&EV_FEED_DOWN, LOG_INT("status", http_status), LOG_STR("reason", reason));
	set_proven(feed, false);
	feed->is_open = false;
	end(feed);
	ev_timer_stop(feed->config.client->loop, &feed->late);
	/* A server that refuses the subscription will not accept it a moment later. */
	if (http_status != 0 && http_status != 101 && http_status < 500 && delay_s < REFUSED_S)
		delay_s = REFUSED_S * (1 + backoff_random());
	ev_timer_set(&feed->retry, delay_s, 0.);
	ev_timer_start(feed->config.client->loop, &feed->retry);
	feed->config.ops->on_closed(feed->config.ctx);
}

static void on_retry(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct feed *feed = timer->data;
	const struct credentials *keys = feed->config.keys;
	feed->peer = http_peer_hold(*feed->config.peer);
	struct ws_call call = {
		.loop = loop,
		.url = feed->url,
		.user_agent = "sluice-provider-rancher/" SLUICE_VERSION,
		.username = keys->access_key.text,
		.password = &keys->secret_key,
		.peer = feed->peer,
		.message_max = MESSAGE_LEN_MAX,
		.connect_timeout_s = feed->config.options->client_timeout,
		.ping_after_s = PING_AFTER_S,
		.dead_after_s = DEAD_AFTER_S,
		.on_open = on_open,
		.on_text = on_text,
		.on_closed = on_closed,
		.ctx = feed,
	};
	feed->ws = ws_open(&call);
}

static void on_late(struct ev_loop *loop, ev_timer *timer, int events)
{
	set_proven(timer->data, false);
}

void feed_missed(struct feed *feed)
{
	if (!feed->is_proven || ev_is_active(&feed->late))
		return;
	ev_timer_set(&feed->late, LATE_S, 0.);
	ev_timer_start(feed->config.client->loop, &feed->late);
}

struct feed *feed_new(const struct feed_config *config)
{
	struct feed *feed = xcalloc(1, sizeof(*feed));
	feed->config = *config;
	feed->url = rancher_url_subscribe(api_base(config->client->api));
	ev_init(&feed->retry, on_retry);
	ev_init(&feed->late, on_late);
	feed->retry.data = feed->late.data = feed;
	backoff_init(&feed->backoff, 0.5, 30);
	return feed;
}

void feed_start(struct feed *feed)
{
	if (!feed->config.options->events)
		return;
	ev_timer_set(&feed->retry, 0., 0.);
	ev_timer_start(feed->config.client->loop, &feed->retry);
}

void feed_free(struct feed *feed)
{
	if (feed == NULL)
		return;
	if (feed->ws != NULL)
		end(feed);
	ev_timer_stop(feed->config.client->loop, &feed->retry);
	ev_timer_stop(feed->config.client->loop, &feed->late);
	free(feed->url);
	free(feed);
}

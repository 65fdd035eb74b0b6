// SPDX-License-Identifier: Apache-2.0
#include "provider-nginx/kept_routes.h"

static const double limit_s = 10;

void kept_routes_begin(struct kept_routes *kept)
{
	if (kept->are_kept)
		return;
	kept->are_kept = true;
	feed_keep(kept->feed, true);
	ev_timer_set(&kept->limit, limit_s, 0.);
	ev_timer_start(kept->loop, &kept->limit);
}

void kept_routes_end(struct kept_routes *kept)
{
	if (!kept->are_kept)
		return;
	kept->are_kept = false;
	ev_timer_stop(kept->loop, &kept->limit);
	feed_keep(kept->feed, false);
}

static void on_limit(struct ev_loop *loop, ev_timer *watcher, int events)
{
	kept_routes_end(watcher->data);
}

void kept_routes_init(struct kept_routes *kept, struct ev_loop *loop, struct feed *feed)
{
	*kept = (struct kept_routes){.loop = loop, .feed = feed};
	ev_init(&kept->limit, on_limit);
	kept->limit.data = kept;
}

void kept_routes_fini(struct kept_routes *kept)
{
	ev_timer_stop(kept->loop, &kept->limit);
}

// SPDX-License-Identifier: Apache-2.0
/*
 * nginx has listeners of a load balancer that is no longer wanted: no route is removed before they are, or before some seconds have passed in
 * which the listeners could not be changed.
 */
#pragma once

#include "provider-nginx/feed.h"

struct kept_routes {
	struct ev_loop *loop;
	struct feed *feed;
	ev_timer limit; /* how long they are kept at most */
	bool are_kept;
};

/* Both must outlive it. */
void kept_routes_init(struct kept_routes *kept, struct ev_loop *loop, struct feed *feed);
void kept_routes_fini(struct kept_routes *kept);
void kept_routes_begin(struct kept_routes *kept);
void kept_routes_end(struct kept_routes *kept);

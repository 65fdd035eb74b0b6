// SPDX-License-Identifier: Apache-2.0
/* Where HAProxy is to listen, and where it does by its main file; the routes of listeners that go. */
#pragma once

#include "provider-proxy/local.h"
#include "provider-proxy/ports.h"

struct binds;

/* `on_change`: they are stale, or need no more routes kept. `keep_max_s`: for so long at most after a change was possible. */
struct binds *binds_new(
	struct local *local, double keep_max_s, void (*on_change)(void *ctx), void *ctx);
void binds_free(struct binds *binds);

/* Other load balancers are wanted. */
void binds_set_stale(struct binds *binds);
/* After each commit; `main_file` is the one in use. */
void binds_on_commit(struct binds *binds, struct str main_file);
bool binds_are_stale(const struct binds *binds);
/* Collects what is wanted and can be bound. `proxy` has all but where it listens; `keeps_held`: what HAProxy has held is not tried. Returns the id of the
 * default certificate, in the arena; empty: there is none. */
struct str binds_update(
	struct binds *binds, const struct ports_proxy *proxy, bool keeps_held, struct arena *arena);
/* Of the last update. */
const struct ports *binds_ports(const struct binds *binds);
/* HAProxy has ended, and it may be for a port that is taken: looks at them after so many seconds, when its workers have ended, too. */
void binds_unsettle(struct binds *binds, double after_s);
/* Until then. */
bool binds_are_unsettled(const struct binds *binds);

/* HAProxy has the listeners of this main file. */
void binds_set_held(struct binds *binds, struct str main_file);
/* HAProxy may run, but the file that it runs with is not there. */
void binds_set_held_unknown(struct binds *binds);
bool binds_are_held_unknown(const struct binds *binds);

/* HAProxy still has listeners of a load balancer that is no longer wanted: no route is removed before they are. */
bool binds_keep_routes(const struct binds *binds);
void binds_end_keeping(struct binds *binds);

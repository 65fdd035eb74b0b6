// SPDX-License-Identifier: Apache-2.0
#include "provider-haproxy/binds.h"

#include "common/xalloc.h"
#include "provider-haproxy/render.h"

static const double look_s = 2;

struct binds {
	struct local *local;
	void (*on_change)(void *ctx);
	void *ctx;
	struct ports *ports; /* that can be bound */
	bool is_stale;
	ev_timer look; /* when to check whether they can still be bound */
	bool is_unsettled;
	bool has_passthrough;
	struct socket_list held; /* where HAProxy listens by the main file on disk */
	bool is_held_unknown;
	bool keeps_routes;
	ev_timer keep; /* how long at most */
	double keep_max_s;
};

static void look_after(struct binds *binds, double after_s)
{
	struct ev_loop *loop = local_loop(binds->local);
	ev_timer_stop(loop, &binds->look);
	ev_timer_set(&binds->look, after_s, 0.);
	ev_timer_start(loop, &binds->look);
}

void binds_unsettle(struct binds *binds, double after_s)
{
	binds->is_unsettled = true;
	look_after(binds, after_s);
}

bool binds_are_unsettled(const struct binds *binds)
{
	return binds->is_unsettled;
}

static void on_look(struct ev_loop *loop, ev_timer *watcher, int events)
{
	struct binds *binds = watcher->data;
	look_after(binds, look_s);
	if (!binds->is_unsettled && !ports_have_changed(binds->ports))
		return;
	binds->is_stale = true;
	local_pending(binds->local, NULL);
	binds->on_change(binds->ctx);
}

/* ---- where it is to listen ---- */

void binds_set_stale(struct binds *binds)
{
	binds->is_stale = true;
}

bool binds_are_stale(const struct binds *binds)
{
	return binds->is_stale;
}

const struct ports *binds_ports(const struct binds *binds)
{
	return binds->ports;
}

struct str binds_update(
	struct binds *binds, const struct ports_proxy *proxy, bool keeps_held, struct arena *arena)
{
	struct local *local = binds->local;
	struct ports ports;
	ports_collect(local_state(local), local_routes(local), local_publish(local),
		local_notices(local), binds->ports, arena, &ports);
	/* Of those that are wanted, whether they can be bound or not. */
	struct str default_certificate = ports_default_certificate(&ports);
	struct ports_proxy ours = *proxy;
	struct socket_list wanted = ports_sockets(&ports);
	if (keeps_held)
		ours.held = binds->is_held_unknown ? &wanted : &binds->held;
	ports_probe(&ports, &ours, arena);
	free(wanted.items);
	local_set_ports(local, &ports);
	binds->is_stale = false;
	binds->is_unsettled = false;
	look_after(binds, look_s);
	struct ports *copy = ports_copy(&ports);
	ports_free(binds->ports);
	binds->ports = copy;
	return default_certificate;
}

/* ---- where it does listen ---- */

void binds_set_held(struct binds *binds, struct str main_file)
{
	free(binds->held.items);
	binds->held = ports_read_sockets(main_file, RENDER_BIND);
	binds->is_held_unknown = false;
}

void binds_set_held_unknown(struct binds *binds)
{
	binds->is_held_unknown = true;
}

bool binds_are_held_unknown(const struct binds *binds)
{
	return binds->is_held_unknown;
}

/* ---- routes of listeners that go ---- */

bool binds_keep_routes(const struct binds *binds)
{
	return binds->keeps_routes;
}

static void begin_keeping(struct binds *binds)
{
	binds->keeps_routes = true;
	ev_timer_set(&binds->keep, binds->keep_max_s, 0.);
	ev_timer_start(local_loop(binds->local), &binds->keep);
}

void binds_end_keeping(struct binds *binds)
{
	binds->keeps_routes = false;
	ev_timer_stop(local_loop(binds->local), &binds->keep);
}

static void on_kept_long(struct ev_loop *loop, ev_timer *watcher, int events)
{
	struct binds *binds = watcher->data;
	binds_end_keeping(binds);
	binds->on_change(binds->ctx);
}

void binds_on_commit(struct binds *binds, struct str main_file)
{
	bool has_passthrough = routes_passthrough_total(local_routes(binds->local)) != 0;
	if (has_passthrough != binds->has_passthrough)
		binds->is_stale = true;
	binds->has_passthrough = has_passthrough;
	if (!binds->is_stale)
		return;
	if (!binds->keeps_routes && ports_names_former(main_file, local_state(binds->local)))
		begin_keeping(binds);
	local_pending(binds->local, NULL);
}

struct binds *binds_new(
	struct local *local, double keep_max_s, void (*on_change)(void *ctx), void *ctx)
{
	struct binds *binds = xcalloc(1, sizeof(*binds));
	binds->local = local;
	binds->keep_max_s = keep_max_s;
	binds->on_change = on_change;
	binds->ctx = ctx;
	binds->ports = xcalloc(1, sizeof(*binds->ports));
	ev_init(&binds->look, on_look);
	binds->look.data = binds;
	ev_init(&binds->keep, on_kept_long);
	binds->keep.data = binds;
	return binds;
}

void binds_free(struct binds *binds)
{
	ev_timer_stop(local_loop(binds->local), &binds->look);
	ev_timer_stop(local_loop(binds->local), &binds->keep);
	ports_free(binds->ports);
	free(binds->held.items);
	free(binds);
}

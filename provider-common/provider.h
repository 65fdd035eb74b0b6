// SPDX-License-Identifier: Apache-2.0
/*
 * The provider's end of the link to the translator, and the contract for a new provider in C.
 *
 * A provider fills struct provider_ops and struct provider_config, makes a struct provider from its
 * main(), and from then on
 *
 *   - reads the desired state from provider_state(): always consistent, because only a commit
 *     changes it;
 *   - learns from on_commit() what a commit has changed, and makes the real load balancer agree
 *     with the state, in its own time: nothing waits for it;
 *   - calls provider_status_changed() when the status of a load balancer may have changed; when
 *     there is room to send it, fill_status() is called. No statuses are queued: what is sent is
 *     true at that moment, and what was already sent is not sent again;
 *   - calls provider_event() for what is worth an Event on the owners' objects.
 *
 * Rules that keep traffic going whichever process dies:
 *
 *   - When the link is lost nothing changes: the state stays, and the provider goes on with it.
 *   - After a restart the provider finds out what exists and compares. It removes nothing before
 *     on_commit() has brought a snapshot (state_is_complete()), and then only what it made itself.
 *   - A load balancer that fails is reported and retried without holding up any other.
 *
 * The capabilities say whether the provider makes one real load balancer for each load-balancer
 * object (grouping per-ingress, one object for each Ingress or group) or serves one object that
 * holds everything (merged); nothing here but `want_touched` depends on it.
 */
#pragma once

#include "proto/link.h"
#include "provider-common/state.h"

#include <ev.h>
#include <stdbool.h>

enum {
	PROVIDER_EVENTS_MAX =
		256, /* events that wait for the link; the oldest are dropped beyond */
};

struct provider;

struct provider_ops {
	/* See state_config.reduce; may be NULL. */
	bool (*reduce)(enum lb_kind kind, void *value);
	/* See state_config.amend; may be NULL. */
	bool (*amend)(void *ctx, const struct object *old, enum lb_kind kind, void *value,
		struct arena *arena);
	/* The state has changed as described. The user pointers of removed objects must be taken
	 * back. */
	void (*on_commit)(void *ctx, const struct state_commit *commit);
	/* Fill *status for a load balancer that is present: state, message, addresses, notices; id
	 * and rev are filled in already. Everything it points to must live in the arena, in the
	 * object, or longer than the call. false: there is nothing to report yet. */
	bool (*fill_status)(void *ctx, struct object *load_balancer, struct arena *arena,
		struct lb_status *status);
	/* For providers with the feature `lead`: whether the provider may write now; called when that changes. Meanwhile it goes on
	 * reading, keeping the state and reporting statuses, so that it can take over at once. May be NULL. */
	void (*on_lead)(void *ctx, bool may_act);
	/* The link came up or was lost; may be NULL. */
	void (*on_link)(void *ctx, bool is_up);
};

struct provider_config {
	struct ev_loop *loop;
	const char *socket_path; /* copied */
	/* Must live as long as the provider: */
	struct str name;     /* short, such as "rancher" */
	struct str software; /* program and version */
	struct capabilities *capabilities;
	bool want_touched; /* see state_config */
	const struct provider_ops *ops;
	void *ctx;
};

/* Connects, and reconnects for ever. */
struct provider *provider_new(const struct provider_config *config);
/* Says bye with the reason. The user pointers of objects are no longer used. */
void provider_free(struct provider *provider, const char *reason);

/* Leaves the link to another provider for that long from now, whatever an earlier call said; then reconnects. Everything else stays. */
void provider_pause(struct provider *provider, double seconds);

/* By the clock as it is now, which may be ahead of on_lead(). True where there is no election. */
bool provider_may_act(const struct provider *provider);
struct state *provider_state(struct provider *provider);
/* Decodes an object of the state; see state_decode(). */
void provider_decode(struct provider *provider, const struct object *object, struct arena *arena,
	void *ret_value);

/* `load_balancer` is present. Cheap; may be called any number of times. */
void provider_status_changed(struct provider *provider, struct object *load_balancer);
/* Instead of that, when what was committed is in force and the status says the same as before: fill_status() is not called, and how long it has
 * taken is counted all the same. */
void provider_status_same(struct provider *provider, struct object *load_balancer);
/* Whether all that was committed is in force now: for providers with the feature `applied`, see PROTOCOL.md. A commit does not change it, so
 * say `false` in on_commit() unless the commit changes nothing. */
void provider_set_applied(struct provider *provider, bool is_applied);
/* Best effort: sent once, and lost when the link is down for long. The event is copied. */
void provider_event(struct provider *provider, const struct lb_event *event);

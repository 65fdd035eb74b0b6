// SPDX-License-Identifier: Apache-2.0
/*
 * The state that the translator wants, as this provider knows it: load balancers, virtual hosts,
 * pools, certificates, policies and users by kind and id. No I/O.
 *
 * What arrives between two commits is staged; state_commit() swaps it in, so that readers always
 * see a consistent state:
 *
 *   sync-begin    state_begin_snapshot()   what is not repeated before the next commit is gone
 *   upsert        state_stage_upsert()     the newest wins; an unchanged revision is no change
 *   remove        state_stage_remove()
 *   commit        state_commit(), then state_commit_done()
 *   link lost     state_drop_staged()      the committed state stays as it is
 *
 * An object is kept as the message that brought it, and decoded on demand. References between
 * objects are kept both ways, so that a change finds what depends on it; an id that is referred to
 * but does not exist is an object that is not present. Certificates and users are wiped when they are freed.
 */
#pragma once

#include "proto/message.h"

#include <bsd/sys/queue.h>
#include <stdbool.h>

enum {
	STATE_OBJECTS_MAX = 1000 * 1000, /* present and staged together */
};

struct state;
struct object;

struct state_config {
	/* May zero members that the provider never reads (a Rancher provider has no use for
	 * endpoints): what is zero is not kept, and a change of nothing else is no change. `value`
	 * is anything but a load balancer, valid during the call. Returns whether anything
	 * was zeroed. NULL: everything is kept. */
	bool (*reduce)(enum lb_kind kind, void *value);
	/* May replace a value that arrives; until the next commit its object is `old` (NULL: it is new). Whatever it puts there must live in
	 * the arena. False: the value stays as it came. NULL: nothing is amended. */
	bool (*amend)(void *ctx, const struct object *old, enum lb_kind kind, void *value,
		struct arena *arena);
	void *amend_ctx;
	/* Find out at each commit which load balancers depend on what changed. For providers that
	 * make one real load balancer for each object; one that merges them has no use for it. */
	bool want_touched;
};

enum state_change_type { STATE_ADDED, STATE_CHANGED, STATE_REMOVED };

struct state_change {
	enum state_change_type type;
	struct object *object; /* what was removed can still be decoded until state_commit_done() */
};

struct state_commit {
	bool is_snapshot; /* the first commit of a connection: the state is complete */
	const struct state_change *changes;
	size_t change_count;
	/* Load balancers that are present and were changed, or depend on an object that was; each
	 * once. */
	struct object *const *touched;
	size_t touched_count;
};

struct state *state_new(const struct state_config *config);
void state_free(struct state *state);

void state_begin_snapshot(struct state *state);
/* `message` is an upsert of any kind. -EBADMSG or -EMSGSIZE with *ret_error: it
 * violates the protocol, close the link. The arena is used for decoding and may be reset
 * afterwards. */
[[nodiscard]] int state_stage_upsert(struct state *state, const struct message *message,
	struct arena *arena, struct schema_error *ret_error);
[[nodiscard]] int state_stage_remove(
	struct state *state, const struct lb_remove *remove, struct schema_error *ret_error);
void state_drop_staged(struct state *state);
/* *ret_commit is valid until state_commit_done(), which must follow. Staging in between is not
 * allowed. */
void state_commit(struct state *state, struct state_commit *ret_commit);
void state_commit_done(struct state *state);
/* A snapshot has been committed: what is not in the state does not exist. */
bool state_is_complete(const struct state *state);

/* NULL when there is none, or when it is not present. */
struct object *state_find(const struct state *state, enum lb_kind kind, struct str id);
/* All objects of a kind that are present, sorted by id: for (o = state_first(s, k); o != NULL;
 * o = state_next(s, o)). */
struct object *state_first(const struct state *state, enum lb_kind kind);
struct object *state_next(const struct state *state, struct object *object);
/* Likewise the first one behind an id, whose object may have gone meanwhile. */
struct object *state_after(const struct state *state, enum lb_kind kind, struct str id);
size_t state_count(const struct state *state, enum lb_kind kind);
/* Any kind; all begin with the key. */
union any_object {
	struct lb_key key;
	struct load_balancer load_balancer;
	struct virtual_host virtual_host;
	struct pool pool;
	struct certificate certificate;
	struct policy policy;
	struct users users;
};

/* Decodes the object into *ret_value, a struct of its kind. Texts point into the object and are
 * valid until it changes (at the next commit), or live in the arena, as lists do. */
void state_decode(
	struct state *state, const struct object *object, struct arena *arena, void *ret_value);

/* The same during on_commit(), for who needs the value no longer than that, and may change it: a pool that came alone was decoded when it came, and
 * is not decoded again. */
void state_take_decoded(
	struct state *state, const struct object *object, struct arena *arena, void *ret_value);

/* The virtual hosts of a load balancer, sorted by id; the array lives in the arena. */
size_t state_hosts_of(
	const struct object *load_balancer, struct arena *arena, struct object ***ret_hosts);
/* The load balancers, present, that use an object; each once. */
size_t state_users_of(
	struct object *object, struct arena *arena, struct object ***ret_load_balancers);

enum lb_kind object_kind(const struct object *object);
struct str object_id(const struct object *object);
/* The revision that the translator gave it. */
uint64_t object_rev(const struct object *object);
bool object_is_present(const struct object *object);
/* What the provider has attached to the object; NULL at first. It must be taken back when the
 * object is removed. */
void *object_user(const struct object *object);
void object_set_user(struct object *object, void *user);

/* What reports.c keeps with each load balancer; zeroed at first. */
struct report {
	TAILQ_ENTRY(report) entry; /* while marked */
	uint64_t digest;           /* of what was sent last */
	double changed_at; /* since when a change is wanted and not yet applied; 0: none is */
	uint32_t told_in;  /* epoch in which the digest was sent; 0: never */
	bool is_marked;
	bool has_state; /* a status was sent */
	uint8_t state;  /* enum lb_state: what was sent last */
};

struct report *object_report(struct object *load_balancer);
struct object *object_of_report(struct report *report);

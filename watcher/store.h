// SPDX-License-Identifier: Apache-2.0
/*
 * The objects as the server has them, known from lists and watches. A record is kept as the frame
 * that is sent to the translator: encoded once, compared by its bytes, sent as it is. Those of
 * Secrets are wiped when they are freed.
 *
 * Objects stay at their address as long as they live. One that was deleted and created again under
 * its name (another uid) is another object: observers see a removal and then a new object.
 */
#pragma once

#include "common/buf.h"
#include "common/tree.h"
#include "proto/model.h"

struct store_target;
struct outlet_change;

struct store_object {
	RB_ENTRY(store_object) by_name; /* of its kind: by namespace and name */
	char *frame;                    /* NULL: nothing is known but the key */
	size_t frame_len;
	struct store_target *target; /* NULL: its status is not for us to write */
	enum record_kind kind;
	bool is_seen;   /* in the list that is coming in */
	bool is_missed; /* not in the list before, nor seen since */
	bool is_named;  /* watched by its name, see named_objects.h */
	/* These belong to the outlet. */
	struct outlet_change *queued; /* NULL: it is not in the queue */
	bool is_sent;                 /* the peer knows this object */
	bool is_gone;                 /* out of the store; it lives until the outlet frees it */
	uint8_t namespace_len;
	uint8_t name_len;
	uint8_t uid_len;
	char key[]; /* namespace, name, uid */
};

struct status_wish;

/* What is known of an object besides its record, for writing its status. */
struct store_target {
	char *revision; /* of the newest form seen; NULL: none */
	const char *
		status; /* shared text: of the addresses in the status, see status_text.h; NULL: none */
	const char *status_manager; /* shared text: who else wrote them; NULL: not known */
	struct status_wish *wish;   /* belongs to the status writer; NULL: none */
	char *finalizers; /* of a Service: those that are not ours, as the elements of a JSON list; NULL: none */
	bool status_is_ours : 1;  /* by its managed fields */
	bool wants_finalizer : 1; /* only Services have these two, see project.h */
	bool has_finalizer : 1;
};

struct project_facts;

enum store_change {
	STORE_SAME, /* nothing that the translator needs has changed */
	STORE_NEW,  /* also after a removal under the same name */
	STORE_CHANGED,
};

struct store_observer {
	/* The object is in the store, and its target is up to date. Also called for STORE_SAME. */
	void (*on_put)(void *ctx, struct store_object *object, enum store_change change);
	/* The object is about to leave the store and to be freed; whoever sets is_gone frees it instead. */
	void (*on_remove)(void *ctx, struct store_object *object);
	void *ctx;
};

enum { STORE_OBSERVERS_MAX = 4 };

RB_HEAD(store_tree, store_object);

struct store {
	struct store_tree objects[RECORD_KIND_COUNT];
	size_t counts[RECORD_KIND_COUNT];
	struct store_observer observers[STORE_OBSERVERS_MAX];
	size_t observer_count;
};

void store_init(struct store *store);
/* Frees all objects, without telling observers. */
void store_fini(struct store *store);
void store_observe(struct store *store, const struct store_observer *observer);

/* Stores a record: `frame` is the whole frame, as message_encode_record() made it, and is copied. `facts` is for Ingresses and Services,
 * and may be NULL for others. Marks the object as seen. */
enum store_change store_put(struct store *store, const struct record_key *key, struct str frame,
	const struct project_facts *facts);
/* The object exists but cannot be used. A record stays if it has the same uid; otherwise there is an object without a record in its place.
 * `facts` NULL: what is known besides the record stays, too. */
void store_keep(
	struct store *store, const struct record_key *key, const struct project_facts *facts);
/* False when there is no such object. */
bool store_remove(
	struct store *store, enum record_kind kind, struct str namespace, struct str name);
struct store_object *store_find(
	const struct store *store, enum record_kind kind, struct str namespace, struct str name);

/* A full list of a kind begins, of one namespace or (absent) of all: marks its objects as not seen. */
void store_unsee(struct store *store, enum record_kind kind, struct str namespace);
/* The list is complete: objects that neither it nor the one before had are removed. Those that only it lacks are counted in *ret_missed and
 * kept until the next list lacks them, too: a list that is wrong for a moment must cost no traffic. Returns how many were removed. */
size_t store_sweep(
	struct store *store, enum record_kind kind, struct str namespace, size_t *ret_missed);

/* The same for one object that is watched by its name, which the two above leave out; without a name they are these. */
void store_unsee_named(
	struct store *store, enum record_kind kind, struct str namespace, struct str name);
size_t store_sweep_named(struct store *store, enum record_kind kind, struct str namespace,
	struct str name, size_t *ret_missed);

struct store_object *store_first(const struct store *store, enum record_kind kind);
/* The first one of a namespace, or of all when it is absent; objects of a namespace are adjacent. */
struct store_object *store_first_in(
	const struct store *store, enum record_kind kind, struct str namespace);
struct store_object *store_next(struct store_object *object);

/* Appends the frame to send to the translator: the object's record, that it is to be kept, or that it is gone. There must be room for a
 * message. */
void store_encode(const struct store_object *object, struct buf *out);

static inline struct str store_namespace(const struct store_object *o)
{
	return (struct str){o->key, o->namespace_len};
}

static inline struct str store_name(const struct store_object *o)
{
	return (struct str){o->key + o->namespace_len, o->name_len};
}

static inline struct str store_uid(const struct store_object *o)
{
	return (struct str){o->key + o->namespace_len + o->name_len, o->uid_len};
}

/* NULL: its status is not for us to write. */
struct store_target *store_target_of(struct store_object *object);
/* The same for an Ingress or Service, created if need be; it stays while there is a wish. */
struct store_target *store_target_for(struct store_object *object);
/* The finalizers of a Service with a target that are not ours, as the elements of a JSON list. */
struct str store_finalizers(struct store_object *object);

/* Of an object that is gone. */
void store_object_free(struct store_object *object);

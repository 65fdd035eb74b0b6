// SPDX-License-Identifier: Apache-2.0
/*
 * The objects as the server has them: what one list and watch of each kind have told. An object is
 * kept as the payload of the message that tells the translator of it, so the stored form is
 * compact, is compared with one memcmp, and is sent as it is. Payloads of Secrets are wiped when
 * they are freed.
 *
 * Objects stay at their address as long as they live. One that was deleted and made anew under its
 * name (another uid) is another object: observers hear of a removal and then of a new one.
 */
#pragma once

#include "common/arena.h"
#include "common/buf.h"
#include "common/tree.h"
#include "proto/model.h"
#include "watcher/revision.h"

#include <bsd/sys/queue.h>

struct store_object {
	RB_ENTRY(store_object) by_name;
	TAILQ_ENTRY(store_object) queued; /* belongs to the outlet */
	uint8_t *payload;                 /* packed */
	uint32_t payload_len;
	/* Where namespace, name and uid stand in the payload. The uid may be packed. */
	uint16_t namespace_at;
	uint16_t name_at;
	uint16_t uid_at;
	uint8_t namespace_len;
	uint8_t name_len;
	uint8_t uid_len;
	uint8_t kind;     /* enum record_kind */
	bool is_seen : 1; /* in the list that is coming in */
	/* These belong to the outlet. */
	bool is_queued : 1;
	bool is_sent : 1;      /* the peer knows this object */
	bool is_awaited : 1;   /* part of the snapshot and not sent yet */
	bool is_tombstone : 1; /* out of the store; the payload is a delete message */
};

struct status_wish;

/* What is known of an object beside its record: for writing its status. */
struct store_target {
	struct revision_kept revision; /* of the newest form seen */
	const char *
		status; /* shared text: of the addresses in the status, see status_text.h; NULL: none */
	struct status_wish *wish; /* belongs to the status writer; NULL: none */
	bool status_is_ours : 1;  /* by its managed fields */
	bool wants_finalizer : 1; /* only Services have these two, see project.h */
	bool has_finalizer : 1;
};

struct store_ingress {
	struct store_object object; /* first */
	struct store_target target;
};

/* Few Services have load balancers of ours, so that is apart. */
struct store_service {
	struct store_object object;          /* first */
	struct store_service_target *target; /* NULL: nothing of it is ours, nor is to be */
};

struct store_service_target {
	struct store_target target; /* first */
	char *finalizers; /* those that are not ours, as the elements of a JSON list; NULL: none */
};

struct project_facts;

enum store_change {
	STORE_SAME, /* nothing that the translator needs has changed */
	STORE_NEW,  /* also after a removal under the same name */
	STORE_CHANGED,
};

struct store_observer {
	/* The object is in the store; what is known beside it is up to date. Also called for
	 * STORE_SAME. */
	void (*on_put)(void *ctx, struct store_object *object, enum store_change change);
	/* The object is about to be freed. */
	void (*on_remove)(void *ctx, struct store_object *object);
	void *ctx;
};

enum { STORE_OBSERVERS_MAX = 4 };

RB_HEAD(store_tree, store_object);

struct store {
	struct store_tree trees[RECORD_KIND_COUNT];
	size_t counts[RECORD_KIND_COUNT];
	struct store_observer observers[STORE_OBSERVERS_MAX];
	size_t observer_count;
	struct buf packed;   /* the form that comes in */
	struct buf expanded; /* see store_payload() */
	enum record_kind expanded_kind;
};

void store_init(struct store *store);
/* Frees all objects, without telling observers. */
void store_fini(struct store *store);
void store_observe(struct store *store, const struct store_observer *observer);

/* Takes in an upsert message (without the 4 bytes of its length). `facts` is for Ingresses and
 * Services, and may be NULL for others. Marks the object as seen. */
enum store_change store_put(struct store *store, enum record_kind kind, struct str payload,
	const struct project_facts *facts);
/* The object is there but cannot be used: takes in a keep message. The record of an object of that
 * uid stands; in place of any other there is then an object that is no more than this message.
 * `facts` NULL: what is known beside the record stands, too. */
void store_keep(struct store *store, enum record_kind kind, struct str payload,
	const struct project_facts *facts);
/* False when there is no such object. */
bool store_remove(
	struct store *store, enum record_kind kind, struct str namespace, struct str name);
struct store_object *store_find(
	const struct store *store, enum record_kind kind, struct str namespace, struct str name);

/* A full list of a kind begins, of one namespace or (absent) of all: nothing is seen yet. */
void store_unsee(struct store *store, enum record_kind kind, struct str namespace);
/* It is complete: what was not seen is removed. Returns how many. */
size_t store_sweep(struct store *store, enum record_kind kind, struct str namespace);

struct store_object *store_first(const struct store *store, enum record_kind kind);
struct store_object *store_next(struct store_object *object);

/* The message of an object, as it is sent; good until the next call of a function of this store. */
struct str store_payload(struct store *store, const struct store_object *object);

enum { STORE_UID_LEN_MAX = 128 };
/* Copied into room. */
struct str store_uid(const struct store_object *object, char room[STORE_UID_LEN_MAX]);

static inline struct str store_namespace(const struct store_object *o)
{
	return (struct str){(const char *)o->payload + o->namespace_at, o->namespace_len};
}

static inline struct str store_name(const struct store_object *o)
{
	return (struct str){(const char *)o->payload + o->name_at, o->name_len};
}

static inline struct store_ingress *store_ingress_of(struct store_object *o)
{
	return o->kind == RECORD_INGRESS ? (struct store_ingress *)(void *)o : NULL;
}

static inline struct store_service *store_service_of(struct store_object *o)
{
	return o->kind == RECORD_SERVICE ? (struct store_service *)(void *)o : NULL;
}

/* NULL: its status is not for us to write. */
struct store_target *store_target_of(struct store_object *object);
/* The same of an Ingress or Service, made if need be; it stays while somebody wishes for something. */
struct store_target *store_target_for(struct store_object *object);
/* The finalizers of a Service with a target that are not ours, as the elements of a JSON list. */
struct str store_finalizers(struct store_object *object);

/* For the outlet's tombstones: an object in no tree, with a payload of its own (copied), whose key is not read. */
struct store_object *store_object_detached(
	struct store *store, enum record_kind kind, struct str payload);
void store_object_free(struct store_object *object);

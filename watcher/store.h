// SPDX-License-Identifier: Apache-2.0
/*
 * The objects as the server has them: what one list and watch of each kind have told. A record is
 * kept packed, without its key, which stands with the object: there may be very many of them. The packed
 * form is compared with one memcmp. Records of Secrets are wiped when they are freed.
 *
 * Objects stay at their address as long as they live. One that was deleted and made anew under its
 * name (another uid) is another object: observers hear of a removal and then of a new one.
 */
#pragma once

#include "common/arena.h"
#include "common/buf.h"
#include "common/sorted.h"
#include "proto/model.h"
#include "watcher/revision.h"

enum { STORE_PACKED_LEN_MAX = (1 << 24) - 1 };

struct store_object {
	uint8_t *packed; /* NULL: nothing is known but the key */
	uint32_t packed_len : 24;
	uint32_t kind : 3;  /* enum record_kind */
	bool is_seen : 1;   /* in the list that is coming in */
	bool is_missed : 1; /* not in the list before, nor heard of since */
	/* These belong to the outlet. */
	bool is_queued : 1;
	bool is_sent : 1;  /* the peer knows this object */
	bool is_gone : 1;  /* out of the store; it lives until the outlet frees it */
	bool has_uuid : 1; /* the uid is in binary, see pack_uuid() */
	uint8_t namespace_len;
	uint8_t name_len;
	uint8_t uid_len;
	char key[]; /* namespace, name, uid */
};

struct status_wish;

/* What is known of an object beside its record: for writing its status. */
struct store_target {
	struct revision_kept revision; /* of the newest form seen */
	const char *
		status; /* shared text: of the addresses in the status, see status_text.h; NULL: none */
	const char *status_manager; /* shared text: who else wrote them; NULL: not known */
	struct status_wish *wish;   /* belongs to the status writer; NULL: none */
	bool status_is_ours : 1;    /* by its managed fields */
	bool wants_finalizer : 1;   /* only Services have these two, see project.h */
	bool has_finalizer : 1;
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
	/* The object is about to leave the store, and to be freed; who sets is_gone frees it. */
	void (*on_remove)(void *ctx, struct store_object *object);
	void *ctx;
};

enum { STORE_OBSERVERS_MAX = 4 };

struct store {
	struct sorted objects[RECORD_KIND_COUNT]; /* by namespace and name */
	size_t counts[RECORD_KIND_COUNT];
	struct store_observer observers[STORE_OBSERVERS_MAX];
	size_t observer_count;
	struct arena arena; /* of the record that is being read */
};

void store_init(struct store *store);
/* Frees all objects, without telling observers. */
void store_fini(struct store *store);
void store_observe(struct store *store, const struct store_observer *observer);

/* Takes in a record (begins with a struct record_key). It must fit into a message. `facts` is for Ingresses and
 * Services, and may be NULL for others. Marks the object as seen. */
enum store_change store_put(
	struct store *store, const void *record, const struct project_facts *facts);
/* The object is there but cannot be used. The record of an object of that uid stands; in place of any other there is
 * then an object without a record. `facts` NULL: what is known beside the record stands, too. */
void store_keep(
	struct store *store, const struct record_key *key, const struct project_facts *facts);
/* False when there is no such object. */
bool store_remove(
	struct store *store, enum record_kind kind, struct str namespace, struct str name);
struct store_object *store_find(
	const struct store *store, enum record_kind kind, struct str namespace, struct str name);

/* A full list of a kind begins, of one namespace or (absent) of all: nothing is seen yet. */
void store_unsee(struct store *store, enum record_kind kind, struct str namespace);
/* It is complete: what was seen neither in it nor in the one before is removed; what the one before had is *ret_missed, and kept until the next
 * list lacks it, too: one that is wrong for a moment must cost no traffic. Returns how many were removed. */
size_t store_sweep(
	struct store *store, enum record_kind kind, struct str namespace, size_t *ret_missed);

struct store_object *store_first(const struct store *store, enum record_kind kind);
/* The first one of a namespace, or of all when it is absent; those of a namespace follow each other. */
struct store_object *store_first_in(
	const struct store *store, enum record_kind kind, struct str namespace);
struct store_object *store_next(const struct store *store, const struct store_object *object);

/* Appends the frame that tells the translator of the object: its record, that it is to be kept, or that it is gone. There
 * must be room for a message. */
void store_encode(struct store *store, const struct store_object *object, struct buf *out);

enum { STORE_UID_LEN_MAX = 128 };
/* Copied into room. */
struct str store_uid(const struct store_object *object, char room[STORE_UID_LEN_MAX]);

static inline struct str store_namespace(const struct store_object *o)
{
	return (struct str){o->key, o->namespace_len};
}

static inline struct str store_name(const struct store_object *o)
{
	return (struct str){o->key + o->namespace_len, o->name_len};
}

/* NULL: its status is not for us to write. */
struct store_target *store_target_of(struct store_object *object);
/* The same of an Ingress or Service, made if need be; it stays while somebody wishes for something. */
struct store_target *store_target_for(struct store_object *object);
/* The finalizers of a Service with a target that are not ours, as the elements of a JSON list. */
struct str store_finalizers(struct store_object *object);

/* Of an object that is gone. */
void store_object_free(struct store_object *object);

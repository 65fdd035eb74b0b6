// SPDX-License-Identifier: Apache-2.0
/*
 * Internals of state.c: objects by kind and id, and the references between them, both ways.
 * An object that is only referred to exists without a payload. Nothing else includes this.
 */
#pragma once

#include "common/sorted.h"
#include "provider-common/state.h"

/*
 * One end of a reference. Each object has one, which says where the other is, so that neither list is ever
 * searched: an object may be used by very many. Packed, because there are more of these than of anything else.
 */
struct ref {
	struct object *object; /* at the other end */
	uint32_t place;        /* of the other end in its list */
} __attribute__((packed, aligned(4)));

/* The content of an object: its references to others, and the message that brought it. */
struct payload {
	uint32_t len : 31;      /* of the message, which follows the references */
	uint32_t is_linked : 1; /* the references are there, at both ends */
	uint32_t ref_count;
	struct ref refs[];
};

/* What refers to an object, in no order: one that is removed is replaced by the last. A single one, which is all
 * that most objects have, is stored in the object itself. */
struct refs_in {
	union {
		struct ref one; /* count <= 1 */
		struct {
			struct ref *items;
			uint32_t size; /* how many there is room for */
		} __attribute__((packed, aligned(4))) many;
	};
	uint32_t count;
};

/* A load balancer's struct report comes before its object in memory. */
struct object {
	struct payload *payload; /* NULL: not present */
	void *user;
	uint64_t rev; /* as the translator gave it */
	struct refs_in in;
	uint16_t id_len;
	uint8_t kind;
	bool is_touched : 1;
	bool is_loose : 1;
	bool is_removed : 1; /* in the current commit */
	bool is_seen : 1;    /* the newest snapshot has repeated it */
	char id[];
};

struct object_list {
	struct arena *arena;
	struct object **items;
	size_t count;
};

struct graph {
	struct sorted objects[LB_KIND_COUNT]; /* by id */
};

/* `value` is what the message says: there is room for its references. */
struct payload *payload_new(enum lb_kind kind, const union any_object *value, struct str message);
struct str payload_message(const struct payload *payload);
/* Wipes certificates, users, and pools, which may hold the key of a client certificate. */
void payload_free(enum lb_kind kind, struct payload *payload);

void graph_init(struct graph *graph);
void graph_fini(struct graph *graph);
/* Present or not; NULL when nothing refers to it either. */
struct object *graph_find(const struct graph *graph, enum lb_kind kind, struct str id);
struct object *graph_find_or_add(struct graph *graph, enum lb_kind kind, struct str id);
struct object *graph_first(const struct graph *graph, enum lb_kind kind);
struct object *graph_next(const struct graph *graph, struct object *object);
/* The first behind the id, which no object need have. */
struct object *graph_after(const struct graph *graph, enum lb_kind kind, struct str id);

/* Adds the references to what `value`, the decoded object, names; there must be none yet. Of one that refers to nothing it may be NULL. */
void graph_link(struct graph *graph, struct object *object, const union any_object *value);
/* Drops them, each in constant time. Objects that may no longer be needed are put on `loose`. */
void graph_unlink(struct object *object, struct object_list *loose);
/* Puts the object on the list if it is not present and nothing refers to it. */
void graph_note_loose(struct object *object, struct object_list *loose);
/* Frees those on the list that are still loose. */
void graph_free_loose(struct graph *graph, struct object_list *loose);

/* Adds the load balancers that depend on the object, each once. graph_end_touching() must follow;
 * it keeps those that are present. */
void graph_touch_users(struct object *object, struct object_list *touched);
void graph_end_touching(struct object_list *touched);

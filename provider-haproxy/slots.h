// SPDX-License-Identifier: Apache-2.0
/*
 * Slots: backends that are prepared in the configuration and assigned to pools at run time, because HAProxy 2.6 can add servers at run time,
 * but not backends. No I/O.
 *
 * What cannot be changed at run time (mode, algorithm, cookie, health check, protocol) defines the class of a slot; a class is the text of
 * its backends' lines. Slots come in groups, one configuration file each. Slot number = group number * SLOTS_PER_GROUP + place.
 *
 * A group that has not been needed for a while is released: HAProxy loads an empty file in its place, and the memory is free. Only then can
 * another group get the number, so that a slot never means one thing here and another in the running HAProxy.
 *
 * A slot has servers, one for each endpoint, named by address, port and a digest of the TLS settings, so that changed settings give new
 * servers in place of the old ones. For each it is known what is wanted and what HAProxy has; a slot where these differ is dirty. A slot that
 * its pool has left is reused only when HAProxy has no server in it any more, the one left longest ago first.
 */
#pragma once

#include "common/arena.h"
#include "common/tree.h"
#include "provider-proxy/checks.h"
#include "provider-proxy/names.h"
#include "provider-proxy/trust.h"

#include <bsd/sys/queue.h>

enum {
	SLOTS_PER_GROUP = 64,
	SLOTS_PER_RARE_GROUP = 4, /* of a class that only some tenants need */
	SLOTS_SPARE_SOME = 256,   /* of many: an eighth of 10,000 would be 9 MB that nobody uses */
	SLOTS_RARE_GROUPS_MAX =
		1000, /* so that tenants cannot fill the memory with cookies and checks */
	SLOTS_GROUPS_MAX = 10000,
	SLOTS_IDLE_LOOKS = 10,   /* see slots_look() */
	SLOTS_QUICK_RETRIES = 3, /* of deleting a server, see slots_retry_busy() */
	SLOT_NAME_LEN = 7,       /* s000000 */
	SERVER_NAME_LEN_MAX = CHECK_IP_LEN_MAX + 6 + NAME_LEN + 1,
	SERVER_WEIGHT = 100,
};

struct slot;
TAILQ_HEAD(slot_list, slot);

struct slot_class {
	RB_ENTRY(slot_class) node;
	char *lines; /* of the backend, each with its line end */
	char *server; /* words behind each server's address and weight; "" or beginning with a space */
	bool is_sticky;
	bool is_checked;
	bool is_common;  /* holds nothing that a tenant chose: worth keeping many */
	uint64_t digest; /* of the two texts */
	size_t least;    /* slots that are kept, whether they are needed or not */
	size_t slot_count;
	size_t used_count;
	size_t surplus;        /* of slots_release_idle() alone */
	struct slot_list free; /* left longest ago first */
};

enum server_state {
	SERVER_ABSENT,
	SERVER_MAINTENANCE, /* on its way out, or in */
	SERVER_READY,
};

struct server {
	RB_ENTRY(server) node;
	struct check_ip ip;
	uint16_t port;
	bool is_wanted;
	bool is_refused;  /* HAProxy does not take it */
	bool is_deleting; /* it was asked to delete it */
	bool is_busy;     /* it cannot yet, because of running connections */
	unsigned retries; /* of deleting it */
	uint16_t weight;  /* wanted: SERVER_WEIGHT, or 0 while it only drains */
	uint16_t has_weight;
	enum server_state has;
	char name[SERVER_NAME_LEN_MAX];
};

RB_HEAD(server_tree, server);

struct slot {
	TAILQ_ENTRY(slot) link; /* in slot_class.free */
	TAILQ_ENTRY(slot) dirty;
	TAILQ_ENTRY(slot) busy;
	struct group *group;
	uint32_t number;
	struct server_tree servers;
	struct name pool;     /* whose it is; text[0] == 0: nobody's */
	struct name reserved; /* whose it was before our start */
	char *words; /* behind each server that is wanted, after those of the class; NULL: none */
	struct trust trust; /* what the words speak of */
	bool is_dirty;
	bool is_busy; /* a server of it could not be deleted yet */
	bool is_free; /* in slot_class.free */
	bool is_left; /* a pool has left it, whose servers are still in its file */
	char name[SLOT_NAME_LEN + 1];
};

struct group {
	uint32_t number;
	struct slot_class *sort; /* NULL: it was given back, and has no slots */
	uint64_t space;          /* the namespace to whose share it counts; 0: to none */
	bool is_changed;         /* its file is not as it should be */
	bool is_due;        /* and is to be written with the next flush, not only some time later */
	bool is_staged;     /* in the configuration that is being checked it is as it should be */
	bool is_written;    /* its file is there */
	bool is_unsynced;   /* its file was written, and a crash of the machine could undo that */
	bool is_unverified; /* HAProxy may run with other slots of these numbers */
	unsigned idle_looks; /* in a row in which no slot of it was used */
	uint32_t used_count;
	uint32_t size; /* slots in it */
	struct slot slots[];
};

RB_HEAD(class_tree, slot_class);
struct pool_slot;
RB_HEAD(pool_slot_tree, pool_slot);

/* How many groups of classes that are not common were made for a namespace. */
struct slot_share {
	RB_ENTRY(slot_share) node;
	uint64_t space;
	size_t group_count;
};

RB_HEAD(slot_share_tree, slot_share);

struct slots {
	struct group **groups; /* by number */
	size_t group_count;
	size_t vacant_count;    /* of them: given back */
	size_t rare_count;      /* of classes that are not common */
	size_t rare_idle_count; /* of them: no slot of it is used */
	uint64_t layout_changes;
	struct slot_share_tree shares;
	struct class_tree classes;
	struct slot_list dirty;
	struct slot_list busy;
	struct pool_slot_tree by_pool;
};

void slots_init(struct slots *slots);
void slots_fini(struct slots *slots);
/* Of slots_fini(): what is left when the slots have no servers any more. */
void slots_fini_groups(struct slots *slots);

struct slot_class *slots_find_class(struct slots *slots, const char *lines, const char *server);
/* Adds a group that HAProxy has under the next number: of the class, with `size` slots, 0: as many as the class deserves; or, without a class, one that was
 * given back. NULL when there are too many. */
struct group *slots_add_group(struct slots *slots, struct slot_class *sort, uint32_t size);
enum slots_growth {
	SLOTS_GROWN,
	SLOTS_FULL, /* there are too many */
	SLOTS_SHARE, /* the namespace has its share of those that are not common: no more than are left for all others */
};

/* Adds groups that HAProxy has to load yet until the class has room for `more` slots beside those in use. `space` stands for the namespace for which they are, see slots_space(). */
enum slots_growth slots_grow(
	struct slots *slots, struct slot_class *sort, size_t more, uint64_t space);
/* How many slots the class should have beside those in use: so many that reloads become rare the more there are. Only the common ones have any. */
size_t slots_spare(const struct slot_class *sort);
/* What stands for a namespace; 0 stands for nobody. */
uint64_t slots_space(struct str namespace);
/* Another one for other groups; the same after a restart. */
uint64_t slots_layout(const struct slots *slots);
/* To be called at a steady pace. A group that is not used in SLOTS_IDLE_LOOKS of them in a row may be given back; until then one that comes and goes
 * costs no reload. */
void slots_look(struct slots *slots);
/* Groups that slots_release_idle() would give back. */
size_t slots_count_idle(struct slots *slots);
/* Gives back groups that may be, but for what their class is to keep; returns how many. */
size_t slots_release_idle(struct slots *slots);

/* The slot of a number, by name; NULL when there is none. */
struct slot *slots_by_name(const struct slots *slots, struct str name);
struct slot *slots_of_pool(const struct slots *slots, const struct name *pool);
/* Remembers from an earlier run that the slot was the pool's; it is not given to others before slots_end_reserving(). */
void slots_reserve(struct slots *slots, struct slot *slot, const struct name *pool);
void slots_end_reserving(struct slots *slots);
/* The pool's slot of this class: the one it has, or a free one; NULL: there is none. A slot of another class is left by slots_leave() later. */
struct slot *slots_take(struct slots *slots, struct slot_class *sort, const struct name *pool);
/* The slot is nobody's any more, its servers are not wanted. */
void slots_leave(struct slots *slots, struct slot *slot);

/* How TLS is spoken to the servers that are wanted from now on; `words` NULL: none, otherwise beginning with a space. */
void slots_set_words(struct slot *slot, const char *words, const struct trust *trust);
/* Between the two, slots_want_server() for each endpoint; what was not named is not wanted any more. */
void slots_begin_servers(struct slot *slot);
void slots_want_server(struct slots *slots, struct slot *slot, const struct check_ip *ip,
	uint16_t port, bool is_active);
void slots_end_servers(struct slots *slots, struct slot *slot);
/* HAProxy has this server; `name` may be any. NULL when there are no such slots or the name is none of ours. */
struct server *slots_find_server(struct slot *slot, struct str name);
struct server *slots_found_server(struct slots *slots, struct slot *slot, struct str name,
	const struct check_ip *ip, uint16_t port);
/* Nothing is known of what HAProxy has. */
void slots_forget_has(struct slots *slots);
/* Puts the slot among the dirty ones or takes it off, drops servers that nobody has or wants, frees an empty slot. */
void slots_settle(struct slots *slots, struct slot *slot);
/* Its file has to be written soon; what is only another endpoint or weight may wait until slots_all_are_due(). */
void slots_touch(struct slot *slot);
/* All files that are not as they should be are to be written with the next flush; false: there are none. */
bool slots_all_are_due(struct slots *slots);
/* The file of the group is as it should be. */
void slots_group_written(struct group *group);

/* HAProxy has been started with, or has loaded, all groups that are written. */
void slots_note_verified(struct slots *slots);

enum slots_retry {
	SLOTS_RETRY_QUICK, /* those that have been tried fewer than SLOTS_QUICK_RETRIES times: most have an idle connection that is just being closed */
	SLOTS_RETRY_ALL,
};

/* Servers that could not be deleted are tried again. O(slots with such servers). */
void slots_retry_busy(struct slots *slots, enum slots_retry which);
/* Whether there are any. */
bool slots_any_busy(const struct slots *slots);

struct server *slot_first_server(struct slot *slot);
struct server *slot_next_server(struct server *server);

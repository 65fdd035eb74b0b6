// SPDX-License-Identifier: Apache-2.0
/*
 * Where traffic enters a load balancer: Rancher's publicEndpoints and fqdn, packed, sorted and without duplicates (Rancher lists each address
 * once for each port and instance).
 *
 * And what of them stands in the status: a load balancer that has no endpoint at the moment keeps its last addresses for a time, because
 * instances move. No I/O, no clock.
 */
#pragma once

#include "common/arena.h"
#include "proto/model.h"

#include <bsd/sys/queue.h>

enum { ENDPOINTS_MAX = 4096 };

/* Packed: sets are compared byte by byte. */
struct endpoint {
	uint8_t family; /* 4 or 6 */
	uint8_t bytes[16];
	uint16_t port;
} __attribute__((packed));

/* One copy for all who have the same: sets are equal exactly when their pointers are. NULL is the empty one. */
struct endpoint_set;

bool endpoint_parse(struct str ip, uint64_t port, struct endpoint *ret_endpoint);
/* Sorts `items` in place and keeps them without repetitions. To be given back with endpoint_set_drop(). */
const struct endpoint_set *endpoint_set_get(struct endpoint *items, size_t count);
void endpoint_set_drop(const struct endpoint_set *set);
/* Outside of this module for tests only; likewise address_hostname(). */
size_t endpoint_set_count(const struct endpoint_set *set);

/* A host name in lower case, in the arena; absent when it is none that can stand in a status. */
struct str address_hostname(struct str fqdn, struct arena *arena);
/* The addresses of a status: IP addresses as text, then the host name. `fqdn` may be absent. */
size_t addresses_list(const struct endpoint_set *set, struct str fqdn, struct arena *arena,
	struct address **ret_addresses);

/* The addresses in the status of one load balancer. */
struct shown {
	const struct endpoint_set *last; /* the last endpoints there were; NULL: none */
	double none_since; /* when it was first seen without any; 0: it has some, or was not seen */
	bool is_known;     /* `last` is in the status */
	TAILQ_ENTRY(shown) held; /* while is_held, see address_hold.h */
	bool is_held;
	bool had_any; /* it has had addresses, or may have had them before we started */
};

enum shown_change {
	SHOWN_SAME,
	SHOWN_CHANGED, /* the status has changed */
	SHOWN_HOLD,    /* there are none now: call shown_expire() when the time is up */
};

/* The load balancer has just been seen with these endpoints. */
enum shown_change shown_update(struct shown *shown, const struct endpoint_set *set, double now);
/* Takes the addresses out if the time is over. Returns whether the status has changed, and in *ret_warn whether owners are to be warned. */
bool shown_expire(struct shown *shown, double now, double hold_s, bool *ret_warn);
void shown_fini(struct shown *shown);

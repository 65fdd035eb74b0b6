// SPDX-License-Identifier: Apache-2.0
/*
 * What is wanted and not served: reports the unserved ports of ports.h everywhere. Each gives a log line when it comes and when it goes, and a
 * notice to the owner of the port. One that the load balancer itself wants makes that load balancer `failed`; if the machine is the cause, the
 * provider is not ready, either. A port that only a Service wants concerns that Service alone: what one tenant asks for says nothing about the
 * others. No I/O.
 */
#pragma once

#include "provider-proxy/ports.h"

struct unserved;

/* `notices` must outlive it. */
struct unserved *unserved_new(struct notices *notices);
void unserved_free(struct unserved *unserved);

/* Replaces all of them; copied. */
void unserved_set(struct unserved *unserved, const struct ports *ports);
/* How many there are. */
size_t unserved_total(const struct unserved *unserved);
/* What keeps the provider from being ready, in words; NULL: nothing. Valid until the next unserved_set(). */
const char *unserved_missing(const struct unserved *unserved);
/* Those of the load balancer itself, in words; absent: none. Likewise. */
struct str unserved_of(const struct unserved *unserved, struct str load_balancer_id);
/* How many those are. */
size_t unserved_count(const struct unserved *unserved, struct str load_balancer_id);
/* How many of them another program has. */
size_t unserved_taken(const struct unserved *unserved, struct str load_balancer_id);
/* Whether the address is currently not one of this machine. */
bool unserved_address(const struct unserved *unserved, struct str ip);

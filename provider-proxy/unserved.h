// SPDX-License-Identifier: Apache-2.0
/*
 * What is promised and not served: the unserved ports of ports.h, told in every way there is. Each is a log line when it comes and when it goes, and a
 * notice to whom the port belongs. One of a load balancer itself makes that load balancer `failed`; one that is the machine's fault
 * makes the provider not ready, too. A port that a Service alone wants concerns that Service and nobody else: what a tenant asks for
 * says nothing of the others. No I/O.
 */
#pragma once

#include "provider-proxy/ports.h"

struct unserved;

/* `notices` must outlive it. */
struct unserved *unserved_new(struct notices *notices);
void unserved_free(struct unserved *unserved);

/* These are all that there are now; they are copied. */
void unserved_set(struct unserved *unserved, const struct ports *ports);
/* How many there are. */
size_t unserved_total(const struct unserved *unserved);
/* What keeps the provider from being ready, in words; NULL: nothing. Until the next unserved_set(). */
const char *unserved_missing(const struct unserved *unserved);
/* Of the load balancer itself, in words; absent: nothing. Likewise. */
struct str unserved_of(const struct unserved *unserved, struct str load_balancer_id);
/* How many they are. */
size_t unserved_count(const struct unserved *unserved, struct str load_balancer_id);
/* How many of them some program has. */
size_t unserved_taken(const struct unserved *unserved, struct str load_balancer_id);
/* Whether the address is none of this machine now. */
bool unserved_address(const struct unserved *unserved, struct str ip);

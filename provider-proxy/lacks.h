// SPDX-License-Identifier: Apache-2.0
/*
 * What is promised and not served: the lacks of ports.h, told in every way there is. Each is a log line when it comes and when it goes, and a
 * notice to whom the port belongs. One of a load balancer itself makes that load balancer `failed`; one that is the machine's fault
 * makes the provider not ready, too. A port that a Service alone wants concerns that Service and nobody else: what a tenant asks for
 * says nothing of the others. No I/O.
 */
#pragma once

#include "provider-proxy/ports.h"

struct lacks;

/* `notices` must outlive it. */
struct lacks *lacks_new(struct notices *notices);
void lacks_free(struct lacks *lacks);

/* These are all that there are now; they are copied. */
void lacks_set(struct lacks *lacks, const struct ports *ports);
/* How many there are. */
size_t lacks_total(const struct lacks *lacks);
/* What the provider lacks to be ready, in words; NULL: nothing. Until the next lacks_set(). */
const char *lacks_missing(const struct lacks *lacks);
/* Of the load balancer itself, in words; absent: nothing. Likewise. */
struct str lacks_of(const struct lacks *lacks, struct str load_balancer_id);
/* How many they are. */
size_t lacks_count(const struct lacks *lacks, struct str load_balancer_id);
/* How many of them some program has. */
size_t lacks_taken(const struct lacks *lacks, struct str load_balancer_id);
/* Whether the address is none of this machine now. */
bool lacks_address(const struct lacks *lacks, struct str ip);

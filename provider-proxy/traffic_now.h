// SPDX-License-Identifier: Apache-2.0
/*
 * What a proxy says of this moment, beside what it has counted (traffic.h): how many requests of each Ingress are being served, and which endpoints do not answer.
 * It comes in lines as counts do:
 *
 *     /(active) NAMESPACE/NAME COUNT       several of one Ingress are added
 *     /(out) POOL ADDRESS PORT             POOL is the name of a pool (names.h), or `-`: whoever asks this endpoint
 *
 * As many Ingresses have a figure of their own as have counts; those beyond are added under TRAFFIC_OTHERS (traffic_lines.h). Lives as long as one answer. No I/O.
 */
#pragma once

#include "common/buf.h"

enum { TRAFFIC_OUT_MAX = 100 * 1000 /* endpoints; of more it is not known */ };

struct traffic_now;
struct traffic_owner;

struct traffic_now *traffic_now_new(size_t ingresses_max);
void traffic_now_free(struct traffic_now *now);

/* A line without its end, whichever it is; of one with counts the Ingress is noted, which has a figure of its own then. What cannot be read is no line. Those with
 * counts have to come first. */
void traffic_now_take(struct traffic_now *now, struct str line);
void traffic_now_add_active(struct traffic_now *now, struct str name, int64_t count);
void traffic_now_add_out(struct traffic_now *now, struct str pool, struct str ip, uint16_t port);
/* Whether the proxy says so of the endpoint of the pool, or of the endpoint whoever asks it. */
bool traffic_now_is_out(
	const struct traffic_now *now, struct str pool, struct str ip, uint16_t port);

/* In the order of their names. NULL: there are no more; at first `owner` is NULL. */
const struct traffic_owner *traffic_now_next(
	const struct traffic_now *now, const struct traffic_owner *owner);
struct str traffic_owner_name(const struct traffic_owner *owner);
int64_t traffic_owner_active(const struct traffic_owner *owner);

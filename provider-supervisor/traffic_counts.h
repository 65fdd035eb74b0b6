// SPDX-License-Identifier: Apache-2.0
/*
 * The traffic of each Ingress, counted from lines that the proxy writes, which cost it no more than that. HAProxy has them before the line of the access log, or alone
 * (access_log.cfg.tmpl of provider-haproxy), nginx in a file of their own (nginx.conf.tmpl of provider-nginx):
 *
 *     @MAX OWNER STATUS SENT RECEIVED MS RETRIES REASON WORKER FRONTEND NUMBER =ID LINE
 *     #MAX STATUS SENT RECEIVED SECONDS OWNER MORE =ID
 *
 * MAX Ingresses have counts of their own, those beyond are counted together. OWNER is NAMESPACE/NAME of an Ingress. HAProxy puts a minus before it where the line is
 * not to be logged, or writes a minus alone where there is none, and may have two with `<` between them, of
 * which the first counts that is one; with nginx nothing at all is none, and a minus is not counted. NUMBER is how many lines the frontend
 * has written before in this process of HAProxy, WORKER: from gaps in it follows how many were lost. MORE, which may be missing with its blank, is a plus for each retry,
 * and the reason.
 * ID, which may be missing with its sign, is what the line of the access log and the backend have of the request, too: of each Ingress and each bucket of its durations
 * one is kept, as an exemplar. No I/O.
 *
 * Counts last as long as this process: the proxy may come and go, and so may the provider.
 */
#pragma once

#include "common/buf.h"

enum {
	TRAFFIC_OWNER_LEN_MAX = 320,
	TRAFFIC_FRONTENDS_MAX =
		64, /* of all workers; of more the one not heard of for longest is forgotten */
	TRAFFIC_ID_LEN_MAX = 32,
	TRAFFIC_LINE_MARK = '@',
	TRAFFIC_LINE_NGINX = '#',
	TRAFFIC_ID_MARK = '=',
};

struct traffic_counts;

struct traffic_counts *traffic_counts_new(void);
void traffic_counts_free(struct traffic_counts *counts);

/* Milliseconds since 1970, for the exemplars of the lines that follow. */
void traffic_counts_set_time(struct traffic_counts *counts, int64_t time_ms);
/* A line with its end. What is to be logged of it; empty: nothing. A line without a mark is logged as it is. `is_request`: it is counted, else it only has
 * a number. */
struct str traffic_counts_take(struct traffic_counts *counts, struct str line, bool is_request);

/* How many there are to tell. Grows only. */
size_t traffic_counts_number(const struct traffic_counts *counts);
/* Appends the line of one of them, as provider-proxy/traffic.h reads it. -EMSGSIZE: no room. */
[[nodiscard]] int traffic_counts_print(
	struct traffic_counts *counts, size_t index, struct buf *out);

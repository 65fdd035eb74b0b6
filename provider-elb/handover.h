// SPDX-License-Identifier: Apache-2.0
/*
 * When old targets of a group may go. AWS sends no request to a target before its first health check, so a target is unproven from when it is wanted or registered
 * until a read shows that it gets requests, or for HANDOVER_TRUST_S, if nothing has come meanwhile. As long as all that stay are unproven, the old ones stay, too. No I/O.
 *
 * Pods that terminate, but still serve, are known (pool.endpoints that are not active): they stay until a new target is proven, or for HANDOVER_SERVING_S. Of others
 * nobody knows whether they answer: they are of use only if none is known to serve, and no longer than HANDOVER_UNKNOWN_S, after which Amazon's
 * network plugin may give their addresses to other pods.
 */
#pragma once

#include "provider-elb/targets.h"

enum { HANDOVER_TRUST_S = 60, HANDOVER_SERVING_S = 180, HANDOVER_UNKNOWN_S = 30 };

struct handover {
	struct elb_target_list unproven;
	double came_at;                 /* the last one of them */
	struct elb_target_list serving; /* not wanted any more, but their pods still serve */
	double waits_since;             /* < 0: none is kept */
};

void handover_init(struct handover *handover);
void handover_fini(struct handover *handover);
/* `now` is monotonic everywhere. */
/* Something else is wanted; `serving` are inactive endpoints of the pool. `had` may be registered, or was wanted until now; NULL for the first list,
 * of which nothing is known. */
void handover_want(struct handover *handover, const struct elb_target_list *had,
	const struct elb_target_list *wanted, const struct elb_target_list *serving, double now);
void handover_registered(
	struct handover *handover, const struct elb_target_list *targets, double now);
/* The target group was read. */
void handover_read(struct handover *handover, const struct elb_target_list *registered,
	const struct elb_target_list *proven, double now);
/* Which of `old` may go now, when these stay. In the arena. */
struct elb_target_list handover_release(struct handover *handover,
	const struct elb_target_list *old, const struct elb_target_list *staying, double now,
	struct arena *arena);
/* Old targets are kept: health has to be read. */
bool handover_waits(const struct handover *handover);

// SPDX-License-Identifier: Apache-2.0
/*
 * Keeps the targets of one target group as its pool's endpoints are, beside whatever else is done for the load balancer: registers what is new, then
 * deregisters what is gone, but not before one that stays gets requests (handover.h). One that AWS refuses does not hinder the others: it is found by halving, and tried again later. At most one call at a time; what changes meanwhile is sent together. A change never waits for a read: after a start the
 * targets that AWS has are read at leisure, and until then what changes is written without knowing the rest.
 */
#pragma once

#include "provider-elb/call.h"
#include "provider-elb/requests.h"

struct target_sync;

struct target_sync_config {
	const struct call_context *calls;
	struct observed *observed;
	double poll_s; /* between reads of health, while old targets are kept */
	/* Something was learnt or done: the load balancer is planned again. */
	void (*on_progress)(void *ctx);
	/* AWS does not know the group: what there is has to be listed. */
	void (*on_missing)(void *ctx);
	void *ctx;
};

/* `name` is that of the target group, which need not exist yet; copied. */
struct target_sync *target_sync_new(const struct target_sync_config *config, struct str name);
void target_sync_free(struct target_sync *sync);
struct str target_sync_name(const struct target_sync *sync);

/* What is wanted from now on, and what is not, but may still serve; copied. The first list may have been wanted before this process lived: it is compared with what there is, rather than
 * written. */
void target_sync_set(struct target_sync *sync, const struct elb_target_list *targets,
	const struct elb_target_list *serving);
/* The group was made, found or read, or has gone: goes on. */
void target_sync_wake(struct target_sync *sync);
/* Somebody else may have changed them: they are read again. */
void target_sync_recheck(struct target_sync *sync, enum call_rank rank);
/* Another replica may have written until now: goes on as after a start. */
void target_sync_start_over(struct target_sync *sync);
/* All that is wanted is registered, and nothing else, as far as is known: it was compared at least once since it was wanted. */
bool target_sync_is_settled(const struct target_sync *sync);
/* Why it does not get on, for people; NULL: it does. */
const char *target_sync_problem(const struct target_sync *sync);
/* What AWS said of their health when it was asked last. */
enum requests_health target_sync_health(const struct target_sync *sync);

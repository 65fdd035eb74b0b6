// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/handover.h"

void handover_init(struct handover *handover)
{
	*handover = (struct handover){.waits_since = -1};
}

void handover_fini(struct handover *handover)
{
	targets_fini(&handover->unproven);
	targets_fini(&handover->serving);
	handover_init(handover);
}

/* What has been there for long is trusted; but not if somebody waits for it. */
static void trust_old(struct handover *handover, double now)
{
	if (handover->waits_since < 0 && now - handover->came_at >= HANDOVER_TRUST_S)
		targets_fini(&handover->unproven);
}

static void add(struct handover *handover, const struct elb_target_list *targets, double now)
{
	if (targets->count == 0)
		return;
	trust_old(handover, now);
	targets_add(&handover->unproven, targets);
	handover->came_at = now;
}

void handover_want(struct handover *handover, const struct elb_target_list *had,
	const struct elb_target_list *wanted, const struct elb_target_list *serving, double now)
{
	struct arena arena;
	arena_init(&arena);
	if (had != NULL) {
		struct elb_target_list all = targets_union(had, wanted, &arena);
		targets_keep(&handover->unproven, &all);
		struct elb_target_list fresh = targets_minus(wanted, had, wanted->count, &arena);
		add(handover, &fresh, now);
	}
	targets_replace(&handover->serving, serving);
	arena_fini(&arena);
}

void handover_registered(
	struct handover *handover, const struct elb_target_list *targets, double now)
{
	add(handover, targets, now);
}

void handover_read(struct handover *handover, const struct elb_target_list *registered,
	const struct elb_target_list *proven, double now)
{
	targets_replace(&handover->unproven, registered);
	targets_drop(&handover->unproven, proven);
	handover->came_at = now;
}

static bool has_proven(
	const struct handover *handover, const struct elb_target_list *staying, struct arena *arena)
{
	return targets_minus(staying, &handover->unproven, 1, arena).count != 0;
}

struct elb_target_list handover_release(struct handover *handover,
	const struct elb_target_list *old, const struct elb_target_list *staying, double now,
	struct arena *arena)
{
	trust_old(handover, now);
	/* With none that stays there is nothing to wait for. */
	if (old->count == 0 || staying->count == 0 || has_proven(handover, staying, arena)) {
		handover->waits_since = -1;
		return *old;
	}
	if (handover->waits_since < 0)
		handover->waits_since = now;
	double waited = now - handover->waits_since;
	struct elb_target_list unknown = targets_minus(old, &handover->serving, old->count, arena);
	if (unknown.count != old->count)
		return waited < HANDOVER_SERVING_S ? unknown : *old;
	return waited < HANDOVER_UNKNOWN_S ? (struct elb_target_list){NULL, 0} : *old;
}

bool handover_waits(const struct handover *handover)
{
	return handover->waits_since >= 0;
}

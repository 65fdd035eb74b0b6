// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/observed.h"

static size_t forget_balancers(struct observed *observed, uint64_t before,
	void (*on_balancer)(void *ctx, const struct observed_balancer *balancer), void *ctx)
{
	size_t losses = 0;
	struct observed_balancer *next;
	struct observed_balancer *balancer = observed_next_balancer(observed, NULL);
	for (; balancer != NULL; balancer = next) {
		next = observed_next_balancer(observed, balancer);
		if (balancer->seen_in >= before)
			continue;
		losses += balancer->name != NULL;
		if (balancer->name != NULL && on_balancer != NULL)
			on_balancer(ctx, balancer);
		observed_forget_balancer(observed, balancer);
	}
	return losses;
}

static size_t forget_groups(struct observed *observed, uint64_t before)
{
	size_t losses = 0;
	struct observed_group *next;
	struct observed_group *group = observed_next_group(observed, NULL);
	for (; group != NULL; group = next) {
		next = observed_next_group(observed, group);
		if (group->seen_in >= before)
			continue;
		losses += !str_is_empty(group->group.name);
		observed_forget_group(observed, group);
	}
	return losses;
}

static size_t forget_security_groups(struct observed *observed, uint64_t before)
{
	size_t losses = 0;
	struct observed_security_group *next;
	struct observed_security_group *group = observed_next_security_group(observed, NULL);
	for (; group != NULL; group = next) {
		next = observed_next_security_group(observed, group);
		if (group->seen_in >= before)
			continue;
		losses += group->name != NULL;
		observed_forget_security_group(observed, group);
	}
	return losses;
}

size_t observed_forget_unseen(struct observed *observed, uint64_t before,
	void (*on_balancer)(void *ctx, const struct observed_balancer *balancer), void *ctx)
{
	return forget_balancers(observed, before, on_balancer, ctx) +
	       forget_groups(observed, before) + forget_security_groups(observed, before);
}

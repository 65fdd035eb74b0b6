// SPDX-License-Identifier: Apache-2.0
/* The targets of one group that AWS refuses by themselves: they are left out for some time, so that they do not hinder the others. */
#pragma once

#include "provider-elb/targets.h"

#include <ev.h>

enum { TARGET_REFUSALS_MAX = 8 };

struct target_refusals {
	struct ev_loop *loop;
	struct elb_target_list list;
	char *reason; /* of the last one; NULL: there are none */
	ev_timer over;
	/* None is left out any more. */
	void (*on_over)(void *ctx);
	void *ctx;
};

void target_refusals_init(struct target_refusals *refusals, struct ev_loop *loop,
	void (*on_over)(void *ctx), void *ctx);
/* Calls nobody. */
void target_refusals_forget(struct target_refusals *refusals);
void target_refusals_add(
	struct target_refusals *refusals, const struct elb_target_list *targets, struct str reason);
/* Those that are not wanted any more are no problem. */
void target_refusals_keep(struct target_refusals *refusals, const struct elb_target_list *wanted);

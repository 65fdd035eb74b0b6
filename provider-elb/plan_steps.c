// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/plan_parts.h"

#include <stdlib.h>

bool plan_do(struct plan_work *work, enum plan_step step)
{
	work->plan->step = step;
	return true;
}

void plan_look_again(struct plan_work *work, double delay_s)
{
	if (work->delay_s <= 0 || delay_s < work->delay_s)
		work->delay_s = delay_s;
}

void plan_wait(struct plan_work *work, const char *for_what, double delay_s)
{
	if (!work->is_waiting)
		work->waits_for = for_what;
	work->is_waiting = true;
	if (delay_s > 0)
		plan_look_again(work, delay_s);
}

void plan_wait_for_help(struct plan_work *work, const char *for_what, double delay_s)
{
	work->needs_help = work->needs_help || !work->is_waiting;
	plan_wait(work, for_what, delay_s);
}

int plan_text_cmp(const void *left, const void *right)
{
	const struct str *a = left, *b = right;
	return str_cmp(*a, *b);
}

bool plan_is_held(struct plan_work *work, struct str subject)
{
	const struct str_list *held = &work->input->held;
	if (held->count == 0 || str_is_empty(subject))
		return false;
	if (bsearch(&subject, held->items, held->count, sizeof(*held->items), plan_text_cmp) ==
		NULL)
		return false;
	work->is_held = true;
	plan_look_again(work, PLAN_HELD_WAIT_S);
	return true;
}

bool plan_may_delete(struct plan_work *work)
{
	if (!work->input->may_delete)
		plan_wait(work, "the whole configuration", 0);
	return work->input->may_delete;
}

void plan_block(struct plan_content *content, struct plan_listener *listener)
{
	listener->is_blocked = content->is_blocked = true;
}

bool plan_change(struct plan_content *content, enum plan_step step)
{
	struct plan *plan = content->work->plan;
	struct str applied = str_from(content->balancer->applied);
	if (!str_is_empty(applied) && !str_eq_c(applied, TAG_CHANGING)) {
		*plan = (struct plan){.tag_value = STR(TAG_CHANGING)};
		step = PLAN_TAG_BALANCER;
	}
	plan->wanted = content->wanted;
	plan->balancer = content->balancer;
	return plan_do(content->work, step);
}

bool plan_delete_balancer(struct plan_work *work, struct observed_balancer *balancer)
{
	if (balancer->is_protected) {
		plan_look_again(work, PLAN_PROTECTED_WAIT_S);
		return false;
	}
	if (plan_is_held(work, str_from(balancer->arn)))
		return false;
	work->plan->balancer = balancer;
	return plan_do(work, PLAN_DELETE_BALANCER);
}

// SPDX-License-Identifier: Apache-2.0
#include "provider-rancher/plan.h"

static struct plan wait_for_news(void)
{
	return (struct plan){.step = PLAN_NOTHING};
}

static struct plan look_again(double delay_s)
{
	return (struct plan){.step = PLAN_LATER, .delay_s = delay_s};
}

static struct plan need(unsigned needs)
{
	return (struct plan){.step = PLAN_NOTHING, .needs = needs};
}

/* Everything a creation needs: nothing is created that could not be completed. */
static bool lacks_for_create(const struct plan_input *in, struct plan *ret_plan)
{
	if ((in->missing & PLAN_NEED_STACK) != 0)
		*ret_plan = need(PLAN_NEED_STACK);
	else if ((in->missing & PLAN_NEED_IMAGE) != 0)
		*ret_plan = need(PLAN_NEED_IMAGE);
	else if ((in->missing & PLAN_NEED_CERTIFICATES) != 0)
		*ret_plan = need(PLAN_NEED_CERTIFICATES);
	else
		return false;
	return true;
}

static struct plan plan_create(const struct plan_input *in)
{
	struct plan plan;
	if (lacks_for_create(in, &plan))
		return plan;
	if (in->must_read)
		return (struct plan){.step = PLAN_READ};
	if (in->is_empty)
		return (struct plan){.step = PLAN_NOTHING, .is_settled = true};
	double waited = in->now - in->waiting_since;
	if ((in->missing & PLAN_NEED_SERVICES) != 0 && waited < PLAN_SERVICES_WAIT_S) {
		plan = look_again(PLAN_SERVICES_WAIT_S - waited);
		plan.needs = PLAN_NEED_SERVICES;
		return plan;
	}
	return (struct plan){.step = PLAN_CREATE, .needs = in->missing & PLAN_NEED_SERVICES};
}

/* A creation may have succeeded though its response was lost; without a stack it cannot have. */
static struct plan plan_absence(const struct plan_input *in)
{
	if (in->must_read && (in->missing & PLAN_NEED_STACK) == 0)
		return (struct plan){.step = PLAN_READ};
	if (in->is_leaving)
		return wait_for_news();
	return (struct plan){.step = PLAN_NOTHING, .is_settled = true};
}

static struct plan plan_removal(const struct plan_input *in)
{
	if (in->row == NULL)
		return in->is_absent ? plan_absence(in) : (struct plan){.step = PLAN_FORGET};
	enum server_put put = server_state_put(in->row->state);
	if (put == SERVER_PUT_GOING || put == SERVER_PUT_GONE)
		return wait_for_news();
	if (in->must_read && !in->is_fresh)
		return (struct plan){.step = PLAN_READ};
	double lasts = in->now - in->row->since;
	bool is_new = in->row->state == SERVER_STATE_REQUESTED ||
		      in->row->state == SERVER_STATE_REGISTERING;
	if (is_new && lasts < PLAN_HOLD_S)
		return look_again(PLAN_HOLD_S - lasts);
	return (struct plan){.step = PLAN_REMOVE};
}

/* The server refuses to switch between one instance on every host and a fixed number. */
static struct plan plan_recreate(const struct plan_input *in)
{
	struct plan plan;
	if (lacks_for_create(in, &plan))
		return plan;
	return (struct plan){.step = PLAN_REMOVE, .is_recreate = true};
}

static unsigned parts_to_write(const struct plan_input *in)
{
	struct lb_facets wanted = *in->wanted;
	/* A scale that we set and that is no longer wanted goes back to one. Others are not ours. */
	if (wanted.scale == 0 && in->row->has_scale_mark)
		wanted.scale = 1;
	unsigned parts = facets_differ(&wanted, &in->row->facets);
	/* Any part but the description schedules an update; the configuration does even if unchanged. */
	if (in->is_repeat && (parts & ~(unsigned)PART_DESCRIPTION) == 0 &&
		server_state_lasts(in->row->state))
		parts |= PART_CONFIG;
	return parts;
}

static struct plan plan_update(const struct plan_input *in, unsigned parts)
{
	const struct lb_row *row = in->row;
	bool needs_whole = (parts & (PART_PORTS | PART_LABELS)) != 0 ||
			   ((parts & PART_CONTENTS) != 0 && row->has_foreign_metadata);
	if ((in->missing & PLAN_NEED_CERTIFICATES) != 0)
		return need(PLAN_NEED_CERTIFICATES);
	if (in->is_drift && !in->drift_is_read) {
		double waited = in->now - in->drift_since;
		if (waited < PLAN_DRIFT_WAIT_S)
			return look_again(PLAN_DRIFT_WAIT_S - waited);
		return (struct plan){.step = PLAN_READ};
	}
	double updating = in->now - row->since;
	if (!server_state_lasts(row->state) && row->transitioning == TRANSITIONING_YES &&
		updating < PLAN_HOLD_S)
		return look_again(PLAN_HOLD_S - updating);
	if (needs_whole && !in->is_fresh)
		return (struct plan){.step = PLAN_READ};
	return (struct plan){.step = PLAN_UPDATE, .parts = parts};
}

static struct plan plan_present(const struct plan_input *in)
{
	const struct lb_row *row = in->row;
	if (in->must_read && !in->is_fresh)
		return (struct plan){.step = PLAN_READ};
	if (server_state_put(row->state) != SERVER_PUT_TAKES)
		return wait_for_news();
	if (in->wanted->is_global != row->facets.is_global)
		return plan_recreate(in);
	unsigned parts = parts_to_write(in);
	if (parts != 0)
		return plan_update(in, parts);
	if (row->state == SERVER_STATE_INACTIVE)
		return (struct plan){.step = PLAN_ACTIVATE};
	return (struct plan){.step = PLAN_NOTHING, .is_settled = true};
}

struct plan plan_next(const struct plan_input *input)
{
	struct plan plan;
	if (input->is_kept)
		return (struct plan){.step = PLAN_NOTHING, .is_settled = true};
	if (input->wanted == NULL)
		return plan_removal(input);
	plan = input->row == NULL ? plan_create(input) : plan_present(input);
	plan.needs |= input->missing & PLAN_NEED_SERVICES;
	return plan;
}

// SPDX-License-Identifier: Apache-2.0
#include "watcher/reflector_fsm.h"

#include "common/must.h"
#include "watcher/reflector_moves.h"

enum { SILENT_PERIODS = 3 };

const char *reflector_state_name(enum reflector_state state)
{
	static const char *const names[] = {
#define FSM_STATE(id, name, help) name,
#include "watcher/reflector_fsm.def"
#undef FSM_STATE
	};
	return names[state];
}

const char *reflector_event_name(enum reflector_event event)
{
	static const char *const names[] = {
#define FSM_EVENT(id, name, help) name,
#include "watcher/reflector_fsm.def"
#undef FSM_EVENT
	};
	return names[event];
}

bool reflector_event_is_failure(enum reflector_event event)
{
	return event != REFLECTOR_EV_CHANGE && event != REFLECTOR_EV_BOOKMARK &&
	       event != REFLECTOR_EV_MARKED && event != REFLECTOR_EV_OPENED &&
	       event != REFLECTOR_EV_PAGE && event != REFLECTOR_EV_LISTED;
}

void reflector_fsm_init(struct reflector_fsm *m, const struct reflector_limits *limits)
{
	*m = (struct reflector_fsm){.limits = *limits, .consistent = true};
	m->page_size = limits->page_size;
}

bool reflector_fsm_is_following(const struct reflector_fsm *m)
{
	return m->state == REFLECTOR_STATE_WATCHING && m->opened;
}

double reflector_fsm_silence_s(const struct reflector_fsm *m)
{
	if (m->state != REFLECTOR_STATE_WATCHING || m->limits.silence_min_s <= 0 ||
		m->bookmark_gap_s <= 0)
		return 0;
	double silence_s = SILENT_PERIODS * m->bookmark_gap_s;
	return silence_s < m->limits.silence_min_s ? m->limits.silence_min_s : silence_s;
}

/* ---- simple states ---- */

static void step_idle(struct reflector_fsm *m, struct step *s)
{
	if (s->in->event == REFLECTOR_EV_START)
		reflector_enter_round(m, s, 0);
}

static void step_lost(struct reflector_fsm *m, struct step *s)
{
	if (s->in->event == REFLECTOR_EV_START)
		reflector_enter_round(m, s, 0);
	else if (s->in->event == REFLECTOR_EV_STOP)
		reflector_enter_idle(m, s);
}

/* On the way to reopening a watch. */
static void enter_check_or_watch(struct reflector_fsm *m, struct step *s)
{
	if (m->may_be_stale)
		reflector_enter(m, s, REFLECTOR_STATE_CHECKING, DO(CHECK));
	else
		reflector_enter_watch(m, s, DO(WATCH));
}

static void step_waiting(struct reflector_fsm *m, struct step *s)
{
	if (s->in->event == REFLECTOR_EV_STOP) {
		reflector_enter_idle(m, s);
	} else if (s->in->event == REFLECTOR_EV_RESYNC) {
		m->consistent = true;
		m->goal = REFLECTOR_GOAL_ROUND;
	} else if (s->in->event == REFLECTOR_EV_TIMER) {
		switch (m->goal) {
		case REFLECTOR_GOAL_ROUND:
			reflector_enter_round(m, s, 0);
			return;
		case REFLECTOR_GOAL_WATCH:
			enter_check_or_watch(m, s);
			return;
		case REFLECTOR_GOAL_PAGE:
			reflector_enter(m, s, REFLECTOR_STATE_LISTING, DO(NEXT));
			return;
		}
	}
	/* Anything else is a late response to a cancelled request. */
}

/* A frame or a list without a usable revision cannot be continued from. */
static bool carries_revision(const struct reflector_input *in)
{
	struct revision ignored;
	if (in->event != REFLECTOR_EV_LISTED && in->event != REFLECTOR_EV_CHANGE &&
		in->event != REFLECTOR_EV_BOOKMARK && in->event != REFLECTOR_EV_MARKED)
		return true;
	return revision_set(&ignored, in->revision);
}

struct reflector_output reflector_fsm_step(
	struct reflector_fsm *m, const struct reflector_input *input)
{
	struct reflector_input checked = *input;
	struct step s = {.in = &checked};
	if (!carries_revision(input))
		checked.event = REFLECTOR_EV_BROKEN;
	switch (m->state) {
	case REFLECTOR_STATE_IDLE:
		step_idle(m, &s);
		break;
	case REFLECTOR_STATE_STREAMING:
		reflector_step_streaming(m, &s);
		break;
	case REFLECTOR_STATE_LISTING:
		reflector_step_listing(m, &s);
		break;
	case REFLECTOR_STATE_CHECKING:
		reflector_step_checking(m, &s);
		break;
	case REFLECTOR_STATE_WATCHING:
		reflector_step_watching(m, &s);
		break;
	case REFLECTOR_STATE_VERIFYING:
		reflector_step_verifying(m, &s);
		break;
	case REFLECTOR_STATE_WAITING:
		step_waiting(m, &s);
		break;
	case REFLECTOR_STATE_LOST:
		step_lost(m, &s);
		break;
	case REFLECTOR_STATE_COUNT:
		must(false);
	}
	return s.out;
}

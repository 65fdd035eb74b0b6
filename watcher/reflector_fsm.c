// SPDX-License-Identifier: Apache-2.0
#include "watcher/reflector_fsm.h"

#include "common/must.h"
#include "watcher/reflector_moves.h"

enum { SILENT_PERIODS = 3 };
/* A connection that is refused costs nobody anything, and is how a server looks that is being started again. */
static const double UNREACHABLE_MAX_S = 4.0;

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

/* ---- the moves ---- */

void reflector_enter(
	struct reflector_fsm *m, struct step *s, enum reflector_state state, unsigned actions)
{
	m->state = state;
	s->out.actions |= actions;
}

void reflector_enter_watch(struct reflector_fsm *m, struct step *s, unsigned actions)
{
	m->opened = false;
	m->frames = 0;
	m->bookmark_at = 0;
	reflector_enter(m, s, REFLECTOR_STATE_WATCHING, actions);
}

void reflector_enter_list(struct reflector_fsm *m, struct step *s, unsigned actions)
{
	m->paging = false;
	if (!revision_is_set(&m->revision))
		m->consistent = true;
	reflector_enter(m, s, REFLECTOR_STATE_LISTING, actions | DO(MARK) | DO(LIST));
}

void reflector_enter_round(struct reflector_fsm *m, struct step *s, unsigned actions)
{
	if (!s->in->may_stream || m->by_list) {
		reflector_enter_list(m, s, actions);
		return;
	}
	if (!revision_is_set(&m->revision))
		m->consistent = true;
	m->opened = false;
	m->frames = 0;
	reflector_enter(m, s, REFLECTOR_STATE_STREAMING, actions | DO(MARK) | DO(STREAM));
}

void reflector_enter_wait(struct reflector_fsm *m, struct step *s, enum reflector_goal goal)
{
	double max_s = m->limits.backoff_max_s;
	bool is_away = s->in->event == REFLECTOR_EV_UNREACHABLE;
	/* A server that is being started refuses for a moment what it does not yet know to be allowed. */
	if (m->was_away && !is_away && !m->came_back) {
		m->came_back = true;
		m->step_s = 0;
	}
	m->was_away = is_away;
	m->is_doubtful = m->is_doubtful || is_away || s->in->event == REFLECTOR_EV_CUT ||
			 s->in->event == REFLECTOR_EV_TROUBLE;
	if (m->row_step_s > m->step_s)
		m->step_s = m->row_step_s;
	m->row_step_s = 0;
	m->step_s = m->step_s <= 0 ? m->limits.backoff_first_s : m->step_s * 2;
	if (is_away && max_s > UNREACHABLE_MAX_S)
		max_s = UNREACHABLE_MAX_S;
	if (m->step_s > max_s)
		m->step_s = max_s;
	m->goal = goal;
	s->out.wait_s = m->step_s > s->in->retry_after_s ? m->step_s : s->in->retry_after_s;
	s->out.wait_jitter_s = m->step_s;
	reflector_enter(m, s, REFLECTOR_STATE_WAITING, DO(CANCEL) | DO(FAILED) | DO(WAIT));
}

void reflector_enter_idle(struct reflector_fsm *m, struct step *s)
{
	reflector_enter(m, s, REFLECTOR_STATE_IDLE, DO(CANCEL) | DO(CANCEL_SECOND));
}

/* What comes next may be another version of the same resource: its list is compared with what is
 * there. */
void reflector_enter_lost(struct reflector_fsm *m, struct step *s)
{
	m->consistent = true;
	reflector_enter(m, s, REFLECTOR_STATE_LOST,
		DO(CANCEL) | DO(CANCEL_SECOND) | DO(FAILED) | DO(REDISCOVER));
}

/* Both ways to a complete state end here. */
void reflector_end_round(struct reflector_fsm *m, struct step *s)
{
	struct str old = str_from(m->revision.text);
	s->out.went_back = revision_is_older(s->in->revision, old);
	must(revision_set(&m->revision, s->in->revision));
	m->consistent = false;
	m->by_list = false;
	m->whole = false;
	m->short_count = 0;
	m->row_step_s = m->step_s;
	m->step_s = 0;
	m->is_doubtful = false;
	s->out.actions |= DO(SWEEP) | DO(SYNCED) | DO(HEALTHY);
}

void reflector_prove(struct reflector_fsm *m)
{
	m->step_s = 0;
	m->row_step_s = 0;
	m->came_back = false;
	m->was_gone = false;
}

void reflector_go_forward(struct reflector_fsm *m, const struct step *s)
{
	if (!revision_is_older(s->in->revision, str_from(m->revision.text)))
		must(revision_set(&m->revision, s->in->revision));
}

/* ---- states with little to do ---- */

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

/* Before a watch is opened again. */
static void enter_check_or_watch(struct reflector_fsm *m, struct step *s)
{
	if (m->is_doubtful)
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
	/* Everything else is a late answer to what was cancelled. */
}

/* A frame or a list without a usable revision cannot be gone on from. */
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
	case REFLECTOR_STATE_DOUBTING:
		reflector_step_doubting(m, &s);
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

// SPDX-License-Identifier: Apache-2.0
#include "watcher/reflector_moves.h"

#include "common/must.h"

/* Refused connections are cheap, and typical of a server that is restarting. */
static const double UNREACHABLE_MAX_S = 4.0;

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
	/* A starting server refuses requests until it has loaded its authorization rules. */
	if (m->was_away && !is_away && !m->came_back) {
		m->came_back = true;
		m->step_s = 0;
	}
	m->was_away = is_away;
	m->may_be_stale = m->may_be_stale || is_away || s->in->event == REFLECTOR_EV_CUT ||
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

/* Another version of the same resource may come next: its list is compared with the stored objects. */
void reflector_enter_lost(struct reflector_fsm *m, struct step *s)
{
	m->consistent = true;
	reflector_enter(m, s, REFLECTOR_STATE_LOST,
		DO(CANCEL) | DO(CANCEL_SECOND) | DO(FAILED) | DO(REDISCOVER));
}

/* Both kinds of list, streamed and paged, end here. */
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
	m->may_be_stale = false;
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

// SPDX-License-Identifier: Apache-2.0
/* The states in which a whole list comes in: as a stream, or page by page; and the one that asks for as little of a list as can be. */
#include "watcher/reflector_moves.h"

void reflector_step_streaming(struct reflector_fsm *m, struct step *s)
{
	switch (s->in->event) {
	case REFLECTOR_EV_STOP:
		reflector_enter_idle(m, s);
		return;
	case REFLECTOR_EV_OPENED:
		m->opened = true;
		m->opened_at = s->in->now;
		return;
	case REFLECTOR_EV_MARKED:
		reflector_end_round(m, s);
		m->bookmark_at = s->in->now;
		/* From here on it is an ordinary watch, which has yet to prove itself. */
		m->opened_at = s->in->now;
		m->frames = 0;
		reflector_enter(m, s, REFLECTOR_STATE_WATCHING, 0);
		return;
	case REFLECTOR_EV_GONE:
	case REFLECTOR_EV_TOO_NEW:
		/* The server rejects the revision that we asked for: ask for the newest, once. */
		if (m->consistent) {
			m->by_list = true;
			reflector_enter_wait(m, s, REFLECTOR_GOAL_ROUND);
			return;
		}
		m->consistent = true;
		reflector_enter_round(m, s, DO(CANCEL));
		return;
	case REFLECTOR_EV_REFUSED:
	case REFLECTOR_EV_UNMARKED:
		reflector_enter_list(m, s, DO(CANCEL) | DO(NO_STREAMS));
		return;
	case REFLECTOR_EV_ENDED:
	case REFLECTOR_EV_DEADLINE:
		reflector_enter_list(m, s, DO(CANCEL));
		return;
	case REFLECTOR_EV_BROKEN:
	case REFLECTOR_EV_TROUBLE:
	case REFLECTOR_EV_TOO_LONG:
		m->by_list = true;
		reflector_enter_wait(m, s, REFLECTOR_GOAL_ROUND);
		return;
	case REFLECTOR_EV_UNREACHABLE:
	case REFLECTOR_EV_CUT:
	case REFLECTOR_EV_THROTTLED:
	case REFLECTOR_EV_UNAUTHORIZED:
	case REFLECTOR_EV_FORBIDDEN:
		reflector_enter_wait(m, s, REFLECTOR_GOAL_ROUND);
		return;
	case REFLECTOR_EV_UNSERVED:
		reflector_enter_lost(m, s);
		return;
	/* Initial objects come in the order of their names, so their revisions say nothing, nor do
	 * bookmarks without the mark. */
	case REFLECTOR_EV_CHANGE:
	case REFLECTOR_EV_BOOKMARK:
	/* Cannot occur in this state. */
	case REFLECTOR_EV_START:
	case REFLECTOR_EV_TIMER:
	case REFLECTOR_EV_RESYNC:
	case REFLECTOR_EV_PAGE:
	case REFLECTOR_EV_LISTED:
	case REFLECTOR_EV_SILENT:
	case REFLECTOR_EV_SECOND_OPENED:
	case REFLECTOR_EV_SECOND_FAILED:
	case REFLECTOR_EV_COUNT:
		return;
	}
}

static void list_gone(struct reflector_fsm *m, struct step *s)
{
	if (m->paging && !m->whole) {
		/* The earlier pages belong to a lost snapshot: request all in one response, which
		 * cannot expire half-way. */
		m->whole = true;
		reflector_enter_list(m, s, DO(CANCEL));
	} else if (!m->paging && !m->consistent) {
		m->consistent = true;
		reflector_enter_list(m, s, DO(CANCEL));
	} else {
		m->consistent = true;
		m->whole = false;
		reflector_enter_wait(m, s, REFLECTOR_GOAL_ROUND);
	}
}

static void list_too_long(struct reflector_fsm *m, struct step *s)
{
	if (m->whole) {
		m->whole = false;
		reflector_enter_list(m, s, DO(CANCEL));
	} else if (m->page_size > 1) {
		m->page_size /= 2;
		reflector_enter(m, s, REFLECTOR_STATE_LISTING, DO(CANCEL) | DO(NEXT));
	} else {
		m->by_list = true;
		reflector_enter_wait(m, s, REFLECTOR_GOAL_ROUND);
	}
}

void reflector_step_listing(struct reflector_fsm *m, struct step *s)
{
	switch (s->in->event) {
	case REFLECTOR_EV_STOP:
		reflector_enter_idle(m, s);
		return;
	case REFLECTOR_EV_PAGE:
		m->paging = true;
		s->out.actions |= DO(NEXT);
		return;
	case REFLECTOR_EV_LISTED:
		reflector_end_round(m, s);
		reflector_enter_watch(m, s, DO(WATCH));
		return;
	case REFLECTOR_EV_GONE:
		list_gone(m, s);
		return;
	case REFLECTOR_EV_TOO_NEW:
		if (m->consistent) {
			reflector_enter_wait(m, s, REFLECTOR_GOAL_ROUND);
			return;
		}
		m->consistent = true;
		reflector_enter_list(m, s, DO(CANCEL));
		return;
	case REFLECTOR_EV_TOO_LONG:
		list_too_long(m, s);
		return;
	/* The pages received so far are still valid: continue where it stopped. */
	case REFLECTOR_EV_UNREACHABLE:
	case REFLECTOR_EV_CUT:
	case REFLECTOR_EV_DEADLINE:
	case REFLECTOR_EV_THROTTLED:
	case REFLECTOR_EV_TROUBLE:
	case REFLECTOR_EV_UNAUTHORIZED:
	case REFLECTOR_EV_FORBIDDEN:
		reflector_enter_wait(m, s, m->paging ? REFLECTOR_GOAL_PAGE : REFLECTOR_GOAL_ROUND);
		return;
	case REFLECTOR_EV_ENDED:
	case REFLECTOR_EV_BROKEN:
		reflector_enter_wait(m, s, REFLECTOR_GOAL_ROUND);
		return;
	case REFLECTOR_EV_REFUSED:
		m->consistent = true;
		m->whole = false;
		reflector_enter_wait(m, s, REFLECTOR_GOAL_ROUND);
		return;
	case REFLECTOR_EV_UNSERVED:
		reflector_enter_lost(m, s);
		return;
	case REFLECTOR_EV_START:
	case REFLECTOR_EV_TIMER:
	case REFLECTOR_EV_RESYNC:
	case REFLECTOR_EV_OPENED:
	case REFLECTOR_EV_CHANGE:
	case REFLECTOR_EV_BOOKMARK:
	case REFLECTOR_EV_MARKED:
	case REFLECTOR_EV_SILENT:
	case REFLECTOR_EV_UNMARKED:
	case REFLECTOR_EV_SECOND_OPENED:
	case REFLECTOR_EV_SECOND_FAILED:
	case REFLECTOR_EV_COUNT:
		return;
	}
}

/* ---- checking ---- */

enum { REFUSED_CHECKS_MAX = 3 };

static void end_check(struct reflector_fsm *m, struct step *s)
{
	m->may_be_stale = false;
	m->refused_checks = 0;
	reflector_enter_watch(m, s, DO(CANCEL) | DO(WATCH));
}

static void take_check(struct reflector_fsm *m, struct step *s)
{
	if (!revision_is_older(s->in->revision, str_from(m->revision.text))) {
		end_check(m, s);
		return;
	}
	s->out.went_back = true;
	m->consistent = true;
	reflector_enter_round(m, s, DO(CANCEL));
}

/* Without permission to list there is no check. A server that is starting refuses as well. */
static void check_refused(struct reflector_fsm *m, struct step *s)
{
	if (++m->refused_checks < REFUSED_CHECKS_MAX)
		reflector_enter_wait(m, s, REFLECTOR_GOAL_WATCH);
	else
		end_check(m, s);
}

void reflector_step_checking(struct reflector_fsm *m, struct step *s)
{
	switch (s->in->event) {
	case REFLECTOR_EV_STOP:
		reflector_enter_idle(m, s);
		return;
	case REFLECTOR_EV_RESYNC:
		m->consistent = true;
		reflector_enter_round(m, s, DO(CANCEL));
		return;
	case REFLECTOR_EV_PAGE:
	case REFLECTOR_EV_LISTED:
		take_check(m, s);
		return;
	case REFLECTOR_EV_UNREACHABLE:
	case REFLECTOR_EV_CUT:
	case REFLECTOR_EV_ENDED:
	case REFLECTOR_EV_DEADLINE:
	case REFLECTOR_EV_THROTTLED:
	case REFLECTOR_EV_TROUBLE:
	case REFLECTOR_EV_UNAUTHORIZED:
		reflector_enter_wait(m, s, REFLECTOR_GOAL_WATCH);
		return;
	case REFLECTOR_EV_FORBIDDEN:
	case REFLECTOR_EV_REFUSED:
	case REFLECTOR_EV_BROKEN:
	case REFLECTOR_EV_GONE:
	case REFLECTOR_EV_TOO_NEW:
	case REFLECTOR_EV_TOO_LONG:
		check_refused(m, s);
		return;
	case REFLECTOR_EV_UNSERVED:
		reflector_enter_lost(m, s);
		return;
	case REFLECTOR_EV_START:
	case REFLECTOR_EV_TIMER:
	case REFLECTOR_EV_OPENED:
	case REFLECTOR_EV_CHANGE:
	case REFLECTOR_EV_BOOKMARK:
	case REFLECTOR_EV_MARKED:
	case REFLECTOR_EV_SILENT:
	case REFLECTOR_EV_UNMARKED:
	case REFLECTOR_EV_SECOND_OPENED:
	case REFLECTOR_EV_SECOND_FAILED:
	case REFLECTOR_EV_COUNT:
		return;
	}
}

// SPDX-License-Identifier: Apache-2.0
/* The states in which a watch runs. */
#include "watcher/reflector_moves.h"

enum {
	SHORT_WATCHES_MAX =
		8, /* then a list is tried instead: a proxy may answer every watch with an empty response */
};
static const double SHORT_WATCH_S = 1.0;
/* A process that was stopped for an hour must not expect hourly bookmarks. */
static const double BOOKMARK_GAP_MAX_S = 120.0;

static void take_bookmark(struct reflector_fsm *m, struct step *s)
{
	if (revision_is_older(s->in->revision, str_from(m->revision.text))) {
		/* Resuming from here would silently drop everything until the server has caught
		 * up. */
		s->out.went_back = true;
		m->consistent = true;
		reflector_enter_round(m, s, DO(CANCEL) | DO(CANCEL_SECOND));
		return;
	}
	reflector_go_forward(m, s);
	double gap_s = s->in->now - m->bookmark_at;
	if (m->bookmark_at > 0 && gap_s > m->bookmark_gap_s)
		m->bookmark_gap_s = gap_s < BOOKMARK_GAP_MAX_S ? gap_s : BOOKMARK_GAP_MAX_S;
	m->bookmark_at = s->in->now;
	m->frames++;
	m->short_count = 0;
	reflector_prove(m);
}

static void take_change(struct reflector_fsm *m, struct step *s)
{
	reflector_go_forward(m, s);
	m->frames++;
	m->short_count = 0;
	reflector_prove(m);
}

static bool has_lived(const struct reflector_fsm *m, const struct step *s)
{
	return m->frames != 0 || (m->opened && s->in->now - m->opened_at >= SHORT_WATCH_S);
}

static void watch_ended(struct reflector_fsm *m, struct step *s)
{
	if (has_lived(m, s)) {
		m->short_count = 0;
		reflector_prove(m);
		reflector_enter_watch(m, s, DO(CANCEL) | DO(WATCH));
	} else if (++m->short_count < SHORT_WATCHES_MAX) {
		reflector_enter_wait(m, s, REFLECTOR_GOAL_WATCH);
	} else {
		m->short_count = 0;
		reflector_enter_wait(m, s, REFLECTOR_GOAL_ROUND);
	}
}

static void watch_cut(struct reflector_fsm *m, struct step *s)
{
	if (!has_lived(m, s)) {
		reflector_enter_wait(m, s, REFLECTOR_GOAL_WATCH);
		return;
	}
	reflector_prove(m);
	reflector_enter_watch(m, s, DO(CANCEL) | DO(WATCH));
}

static void watch_refused(struct reflector_fsm *m, struct step *s)
{
	if (has_lived(m, s))
		reflector_prove(m);
	reflector_enter_wait(m, s, REFLECTOR_GOAL_WATCH);
}

/* The state may be incomplete: list again. */
static void watch_useless(struct reflector_fsm *m, struct step *s, bool consistent)
{
	if (has_lived(m, s))
		reflector_prove(m);
	m->consistent = m->consistent || consistent;
	reflector_enter_wait(m, s, REFLECTOR_GOAL_ROUND);
}

static void watch_gone(struct reflector_fsm *m, struct step *s)
{
	if (has_lived(m, s))
		reflector_prove(m);
	if (m->was_gone) {
		watch_useless(m, s, false);
		return;
	}
	m->was_gone = true;
	reflector_enter_round(m, s, DO(CANCEL) | DO(RELIST));
}

static void watch_resync(struct reflector_fsm *m, struct step *s)
{
	m->consistent = true;
	reflector_enter_round(m, s, DO(CANCEL) | DO(CANCEL_SECOND));
}

void reflector_step_watching(struct reflector_fsm *m, struct step *s)
{
	switch (s->in->event) {
	case REFLECTOR_EV_STOP:
		reflector_enter_idle(m, s);
		return;
	case REFLECTOR_EV_RESYNC:
		watch_resync(m, s);
		return;
	case REFLECTOR_EV_OPENED:
		m->opened = true;
		m->opened_at = s->in->now;
		s->out.actions |= DO(HEALTHY);
		return;
	case REFLECTOR_EV_CHANGE:
		take_change(m, s);
		return;
	case REFLECTOR_EV_BOOKMARK:
	case REFLECTOR_EV_MARKED:
		take_bookmark(m, s);
		return;
	case REFLECTOR_EV_ENDED:
		watch_ended(m, s);
		return;
	case REFLECTOR_EV_UNREACHABLE:
	case REFLECTOR_EV_CUT:
	case REFLECTOR_EV_DEADLINE:
		watch_cut(m, s);
		return;
	case REFLECTOR_EV_SILENT:
		reflector_enter(m, s, REFLECTOR_STATE_VERIFYING, DO(SECOND));
		return;
	case REFLECTOR_EV_THROTTLED:
	case REFLECTOR_EV_TROUBLE:
	case REFLECTOR_EV_UNAUTHORIZED:
	case REFLECTOR_EV_FORBIDDEN:
		watch_refused(m, s);
		return;
	case REFLECTOR_EV_GONE:
		watch_gone(m, s);
		return;
	case REFLECTOR_EV_BROKEN:
	case REFLECTOR_EV_TOO_LONG:
		watch_useless(m, s, false);
		return;
	case REFLECTOR_EV_TOO_NEW:
	case REFLECTOR_EV_REFUSED:
		watch_useless(m, s, true);
		return;
	case REFLECTOR_EV_UNSERVED:
		reflector_enter_lost(m, s);
		return;
	case REFLECTOR_EV_START:
	case REFLECTOR_EV_TIMER:
	case REFLECTOR_EV_PAGE:
	case REFLECTOR_EV_LISTED:
	case REFLECTOR_EV_UNMARKED:
	case REFLECTOR_EV_SECOND_OPENED:
	case REFLECTOR_EV_SECOND_FAILED:
	case REFLECTOR_EV_COUNT:
		return;
	}
}

/* The first watch is alive: the second is not needed, and would repeat the same frames. */
static void end_verifying(struct reflector_fsm *m, struct step *s)
{
	reflector_enter(m, s, REFLECTOR_STATE_WATCHING, DO(CANCEL_SECOND));
}

void reflector_step_verifying(struct reflector_fsm *m, struct step *s)
{
	switch (s->in->event) {
	case REFLECTOR_EV_STOP:
		reflector_enter_idle(m, s);
		return;
	case REFLECTOR_EV_RESYNC:
		watch_resync(m, s);
		return;
	case REFLECTOR_EV_CHANGE:
		end_verifying(m, s);
		take_change(m, s);
		return;
	case REFLECTOR_EV_BOOKMARK:
	case REFLECTOR_EV_MARKED:
		end_verifying(m, s);
		take_bookmark(m, s);
		return;
	case REFLECTOR_EV_SECOND_OPENED:
		reflector_enter_watch(m, s, DO(SWAP));
		m->opened = true;
		m->opened_at = s->in->now;
		return;
	case REFLECTOR_EV_SECOND_FAILED:
		reflector_enter(m, s, REFLECTOR_STATE_WATCHING, DO(CANCEL_SECOND));
		return;
	/* The first one is over: the second replaces it, answered or not. */
	case REFLECTOR_EV_ENDED:
	case REFLECTOR_EV_UNREACHABLE:
	case REFLECTOR_EV_CUT:
	case REFLECTOR_EV_DEADLINE:
	case REFLECTOR_EV_THROTTLED:
	case REFLECTOR_EV_TROUBLE:
	case REFLECTOR_EV_UNAUTHORIZED:
	case REFLECTOR_EV_FORBIDDEN:
		reflector_enter_watch(m, s, DO(SWAP));
		return;
	case REFLECTOR_EV_GONE:
		watch_gone(m, s);
		s->out.actions |= DO(CANCEL_SECOND);
		return;
	case REFLECTOR_EV_BROKEN:
	case REFLECTOR_EV_TOO_LONG:
		watch_useless(m, s, false);
		s->out.actions |= DO(CANCEL_SECOND);
		return;
	case REFLECTOR_EV_TOO_NEW:
	case REFLECTOR_EV_REFUSED:
		watch_useless(m, s, true);
		s->out.actions |= DO(CANCEL_SECOND);
		return;
	case REFLECTOR_EV_UNSERVED:
		reflector_enter_lost(m, s);
		return;
	case REFLECTOR_EV_START:
	case REFLECTOR_EV_TIMER:
	case REFLECTOR_EV_PAGE:
	case REFLECTOR_EV_LISTED:
	case REFLECTOR_EV_OPENED:
	case REFLECTOR_EV_SILENT:
	case REFLECTOR_EV_UNMARKED:
	case REFLECTOR_EV_COUNT:
		return;
	}
}

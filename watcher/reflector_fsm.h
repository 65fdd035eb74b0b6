// SPDX-License-Identifier: Apache-2.0
/*
 * List and watch as a pure state machine: events in, actions out; both are in reflector_fsm.def. No
 * clock, no I/O, no randomness: the time comes with each event, and a wait is given by its minimum,
 * to which reflector.c adds jitter.
 *
 * Invariants:
 * - objects are removed for being absent only after a full list that the server said is complete,
 *   and only if the list before lacked them, too (store_sweep());
 * - a watch that ends normally, is cut, or is refused for load is reopened at the last revision,
 *   without a list;
 * - after every failure there is a wait, unless another kind of request gets around the refusal;
 *   each failure in a row without progress makes the wait longer. A complete list ends the row, and
 *   so does a watch that brought something or lived for a while; a list whose watch fails before
 *   that was no progress;
 * - a revision that is too old is no failure: a list follows at once. There is a wait only when the
 *   revision of that list is too old as well;
 * - the revision never goes back, except by a list that shows it (a server restored from a backup).
 *   A watch from a future revision brings nothing, not even bookmarks, until the server reaches it:
 *   so after the server was away, its current revision is asked for first.
 */
#pragma once

#include "watcher/revision.h"

enum reflector_state {
#define FSM_STATE(id, name, help) REFLECTOR_STATE_##id,
#include "watcher/reflector_fsm.def"
#undef FSM_STATE
	REFLECTOR_STATE_COUNT
};

enum reflector_event {
#define FSM_EVENT(id, name, help) REFLECTOR_EV_##id,
#include "watcher/reflector_fsm.def"
#undef FSM_EVENT
	REFLECTOR_EV_COUNT
};

enum reflector_action_bit {
#define FSM_ACTION(id, help) REFLECTOR_BIT_##id,
#include "watcher/reflector_fsm.def"
#undef FSM_ACTION
	REFLECTOR_BIT_COUNT
};

enum reflector_action {
#define FSM_ACTION(id, help) REFLECTOR_DO_##id = 1 << REFLECTOR_BIT_##id,
#include "watcher/reflector_fsm.def"
#undef FSM_ACTION
};

/* What a wait leads to. */
enum reflector_goal { REFLECTOR_GOAL_ROUND, REFLECTOR_GOAL_WATCH, REFLECTOR_GOAL_PAGE };

struct reflector_limits {
	unsigned page_size;
	double backoff_first_s;
	double backoff_max_s;
	double silence_min_s; /* the least silence after which a watch counts as dead; 0: it never does */
};

struct reflector_fsm {
	struct reflector_limits limits;
	enum reflector_state state;
	struct revision revision; /* where to watch from; empty: no list has ended yet */
	enum reflector_goal goal; /* of a wait */
	bool consistent; /* the next list asks for the newest state, not just for one that is not
			    older than revision */
	bool by_list;    /* the next round does not try a streaming list */
	bool whole;      /* the next list is not paged */
	bool paging;     /* at least one page of this list has arrived */
	unsigned page_size;
	double step_s;     /* the latest pause in the row of failures; 0: there is none */
	double row_step_s; /* that pause when the last list came, until its watch has been of use */
	bool was_away;     /* the latest failure was that the server could not be reached */
	bool came_back;    /* then it was reached, and the row began anew: once */
	bool may_be_stale; /* the server was away and may have gone back since */
	unsigned refused_checks; /* in a row */
	bool was_gone;           /* a revision was too old, and no watch has been of use since */
	bool opened;             /* the watch that runs was answered */
	double opened_at;
	unsigned long frames;  /* in this watch */
	unsigned short_count;  /* watches in a row that ended at once and without a frame */
	double bookmark_at;    /* the last one in this watch; 0: none */
	double bookmark_gap_s; /* the longest time between two bookmarks of this server; 0: not yet
				  known */
};

struct reflector_input {
	enum reflector_event event;
	double now;           /* any steady clock, in seconds */
	struct str revision;  /* of LISTED, CHANGE, BOOKMARK, MARKED */
	bool may_stream;      /* streaming lists are wanted and not known to be refused */
	double retry_after_s; /* what the server asked for; < 0: nothing */
};

struct reflector_output {
	unsigned actions;     /* of enum reflector_action */
	double wait_s;        /* with WAIT: at least this, */
	double wait_jitter_s; /* and at most this much longer */
	bool went_back;       /* the server's revisions went backwards */
};

void reflector_fsm_init(struct reflector_fsm *m, const struct reflector_limits *limits);
struct reflector_output reflector_fsm_step(
	struct reflector_fsm *m, const struct reflector_input *input);
/* Whether a live watch runs that the server has answered, so that changes arrive. */
bool reflector_fsm_is_following(const struct reflector_fsm *m);
/* Seconds without a frame after which to send SILENT; 0: not now. */
double reflector_fsm_silence_s(const struct reflector_fsm *m);
const char *reflector_state_name(enum reflector_state state);
const char *reflector_event_name(enum reflector_event event);
bool reflector_event_is_failure(enum reflector_event event);

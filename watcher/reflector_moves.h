// SPDX-License-Identifier: Apache-2.0
/* The state transitions of the reflector's machine, and what its larger states do with events; used only by the files that implement
 * reflector_fsm.h. */
#pragma once

#include "watcher/reflector_fsm.h"

#define DO(action) REFLECTOR_DO_##action

struct step {
	const struct reflector_input *in;
	struct reflector_output out;
};

/* The only place that assigns the state. */
void reflector_enter(
	struct reflector_fsm *m, struct step *s, enum reflector_state state, unsigned actions);
void reflector_enter_watch(struct reflector_fsm *m, struct step *s, unsigned actions);
void reflector_enter_list(struct reflector_fsm *m, struct step *s, unsigned actions);
/* A streaming list where that is possible, else a list. */
void reflector_enter_round(struct reflector_fsm *m, struct step *s, unsigned actions);
void reflector_enter_wait(struct reflector_fsm *m, struct step *s, enum reflector_goal goal);
void reflector_enter_idle(struct reflector_fsm *m, struct step *s);
void reflector_enter_lost(struct reflector_fsm *m, struct step *s);
void reflector_end_round(struct reflector_fsm *m, struct step *s);
/* A watch has been of use: the row of failures has ended. */
void reflector_prove(struct reflector_fsm *m);
void reflector_go_forward(struct reflector_fsm *m, const struct step *s);

/* reflector_list_states.c: a full list comes in, or the smallest possible one */
void reflector_step_streaming(struct reflector_fsm *m, struct step *s);
void reflector_step_listing(struct reflector_fsm *m, struct step *s);
void reflector_step_checking(struct reflector_fsm *m, struct step *s);
/* reflector_watch_states.c: changes come in */
void reflector_step_watching(struct reflector_fsm *m, struct step *s);
void reflector_step_verifying(struct reflector_fsm *m, struct step *s);

// SPDX-License-Identifier: Apache-2.0
/* Event handling in the larger states of the reflector's machine, see reflector_fsm.h. */
#pragma once

#include "watcher/reflector_moves.h"

/* reflector_list_states.c: a full list comes in, or the smallest possible one */
void reflector_step_streaming(struct reflector_fsm *m, struct step *s);
void reflector_step_listing(struct reflector_fsm *m, struct step *s);
void reflector_step_checking(struct reflector_fsm *m, struct step *s);
/* reflector_watch_states.c: changes come in */
void reflector_step_watching(struct reflector_fsm *m, struct step *s);
void reflector_step_verifying(struct reflector_fsm *m, struct step *s);

// SPDX-License-Identifier: Apache-2.0
/* What happens in those states of the reflector's machine in which much may, see reflector_fsm.h. */
#pragma once

#include "watcher/reflector_moves.h"

/* reflector_list_states.c: a whole list comes in, or as little of one as can be */
void reflector_step_streaming(struct reflector_fsm *m, struct step *s);
void reflector_step_listing(struct reflector_fsm *m, struct step *s);
void reflector_step_checking(struct reflector_fsm *m, struct step *s);
/* reflector_watch_states.c: changes come in */
void reflector_step_watching(struct reflector_fsm *m, struct step *s);
void reflector_step_verifying(struct reflector_fsm *m, struct step *s);

// SPDX-License-Identifier: Apache-2.0
#include "provider-rancher/lb_fsm.h"

static const struct lb_fsm_move moves[LB_FSM_STATE_COUNT][LB_EVENT_COUNT] = {
#define LB_FSM_MOVE(state, event, next, action) \
	[LB_FSM_##state][LB_EVENT_##event] = {LB_FSM_##next, LB_ACTION_##action, true},
#include "provider-rancher/lb_fsm.def"
#undef LB_FSM_MOVE
};

struct lb_fsm_move lb_fsm_next(enum lb_fsm_state state, enum lb_fsm_event event)
{
	return moves[state][event];
}

// SPDX-License-Identifier: Apache-2.0
#include "provider-rancher/lb_fsm.h"

static const struct lb_fsm_move moves[LB_FSM_STATE_COUNT][LB_EVENT_COUNT] = {
#define LB_FSM_MOVE(state, event, next, action) \
	[LB_FSM_##state][LB_EVENT_##event] = {LB_FSM_##next, LB_ACTION_##action, true},
#include "provider-rancher/lb_fsm.def"
#undef LB_FSM_MOVE
};

static const char *const state_names[LB_FSM_STATE_COUNT] = {
#define LB_FSM_STATE(id, name, meaning) name,
#include "provider-rancher/lb_fsm.def"
#undef LB_FSM_STATE
};

static const char *const event_names[LB_EVENT_COUNT] = {
#define LB_FSM_EVENT(id, name, meaning) name,
#include "provider-rancher/lb_fsm.def"
#undef LB_FSM_EVENT
};

struct lb_fsm_move lb_fsm_next(enum lb_fsm_state state, enum lb_fsm_event event)
{
	return moves[state][event];
}

const char *lb_fsm_state_name(enum lb_fsm_state state)
{
	return state_names[state];
}

const char *lb_fsm_event_name(enum lb_fsm_event event)
{
	return event_names[event];
}

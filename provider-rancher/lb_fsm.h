// SPDX-License-Identifier: Apache-2.0
/* The state machine of one load balancer; lb_fsm.def says it all. Pure: the caller carries out the action. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum lb_fsm_state {
#define LB_FSM_STATE(id, meaning) LB_FSM_##id,
#include "provider-rancher/lb_fsm.def"
#undef LB_FSM_STATE
	LB_FSM_STATE_COUNT,
};

enum lb_fsm_event {
#define LB_FSM_EVENT(id, meaning) LB_EVENT_##id,
#include "provider-rancher/lb_fsm.def"
#undef LB_FSM_EVENT
	LB_EVENT_COUNT,
};

enum lb_fsm_action {
	LB_ACTION_BUG,
	LB_ACTION_NONE,
	LB_ACTION_PLAN,
	LB_ACTION_QUEUE,
	LB_ACTION_SEND,
	LB_ACTION_RETURN,
	LB_ACTION_REQUEUE,
	LB_ACTION_ARM,
	LB_ACTION_RETRY,
	LB_ACTION_REPLAN,
	LB_ACTION_FREE,
};

struct lb_fsm_move {
	enum lb_fsm_state next;
	enum lb_fsm_action action;
	bool is_listed; /* always, unless lb_fsm.def has a hole; tested */
};

struct lb_fsm_move lb_fsm_next(enum lb_fsm_state state, enum lb_fsm_event event);

// SPDX-License-Identifier: Apache-2.0
#include "provider-rancher/lb_fsm.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static const char *const state_names[LB_FSM_STATE_COUNT] = {
#define LB_FSM_STATE(id, meaning) #id,
#include "provider-rancher/lb_fsm.def"
#undef LB_FSM_STATE
};

static const char *const event_names[LB_EVENT_COUNT] = {
#define LB_FSM_EVENT(id, meaning) #id,
#include "provider-rancher/lb_fsm.def"
#undef LB_FSM_EVENT
};

static void every_pair_is_listed(void **state)
{
	(void)state;
	for (int s = 0; s < LB_FSM_STATE_COUNT; s++) {
		for (int e = 0; e < LB_EVENT_COUNT; e++) {
			struct lb_fsm_move move =
				lb_fsm_next((enum lb_fsm_state)s, (enum lb_fsm_event)e);
			if (!move.is_listed)
				fail_msg("%s, %s is missing", state_names[s], event_names[e]);
			/* A bug changes nothing: the process ends in the state that explains it. */
			if (move.action == LB_ACTION_BUG)
				assert_int_equal(move.next, s);
		}
	}
}

/* Whoever holds a turn gives it back exactly once, whatever happens; and what comes from outside is a bug nowhere. */
static void turns_are_given_back(void **state)
{
	static const enum lb_fsm_event outside[] = {LB_EVENT_NEWS, LB_EVENT_CHANGE};
	(void)state;
	for (int s = 0; s < LB_FSM_STATE_COUNT; s++) {
		for (size_t e = 0; e < sizeof(outside) / sizeof(outside[0]); e++)
			assert_int_not_equal(lb_fsm_next((enum lb_fsm_state)s, outside[e]).action,
				LB_ACTION_BUG);
	}
	for (int e = 0; e < LB_EVENT_COUNT; e++) {
		struct lb_fsm_move move = lb_fsm_next(LB_FSM_BUSY, (enum lb_fsm_event)e);
		bool gives_back = move.action == LB_ACTION_RETURN ||
				  move.action == LB_ACTION_REQUEUE ||
				  move.action == LB_ACTION_ARM || move.action == LB_ACTION_RETRY ||
				  move.action == LB_ACTION_FREE;
		if (move.action != LB_ACTION_BUG)
			assert_int_equal(gives_back, move.next != LB_FSM_BUSY);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_pair_is_listed),
		cmocka_unit_test(turns_are_given_back),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

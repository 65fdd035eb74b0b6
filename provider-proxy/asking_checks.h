// SPDX-License-Identifier: Apache-2.0
/* Checks of what a policy says of others than the backend. No I/O. */
#pragma once

#include "common/arena.h"
#include "proto/model.h"

/* Takes out of the policy what fails; *ret_problem gets words for the first that did, unless it has some. False: its external authentication cannot be done, and its
 * rules have to be closed. Objects that change are made anew in the arena. */
[[nodiscard]] bool asking_settle_policy(
	struct policy *policy, struct arena *arena, struct str *ret_problem);
/* NULL, or why certificates of clients cannot be checked as it says. */
const char *client_tls_problem(const struct client_tls *client);

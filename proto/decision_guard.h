// SPDX-License-Identifier: Apache-2.0
/* The steps that protect: rate limits, networks, passwords. */
#pragma once

#include "proto/decision_making.h"

void guard_limit_rate(struct making *m);
/* Networks and passwords. True: it has answered. */
bool guard_check(struct making *m);

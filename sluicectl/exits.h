// SPDX-License-Identifier: Apache-2.0
/* Exit codes: CTL_EXIT_GOOD and so on, of exits.def. */
#pragma once

enum {
#define EXIT_CODE(id, number, meaning) CTL_EXIT_##id = (number),
#include "sluicectl/exits.def"
#undef EXIT_CODE
};

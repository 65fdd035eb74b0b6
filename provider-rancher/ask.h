// SPDX-License-Identifier: Apache-2.0
/* What an answer says of the server as a whole: every answer is shown to the line of turns. */
#pragma once

#include "provider-rancher/api.h"
#include "provider-rancher/turns.h"

void ask_judge(struct turns *turns, const struct turn *turn, const struct api_answer *answer);

// SPDX-License-Identifier: Apache-2.0
/* Resets inherited signal state: the mask and ignored signals outlive exec, and nothing here may rely on them. */
#pragma once

#include <signal.h>

/* No signal is blocked but those of `held` (NULL: none), and none is ignored; handlers that were set stay. Never fails. Before any thread is started. */
void signals_reset(const sigset_t *held);

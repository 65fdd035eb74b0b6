// SPDX-License-Identifier: Apache-2.0
/* What a process has of signals from whoever started it: a mask and which are ignored outlive exec, and nobody here may rely on them. */
#pragma once

/* No signal is blocked, and none ignored; handlers that were set stay. Never fails. Before any thread is started. */
void signals_reset(void);

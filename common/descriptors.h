// SPDX-License-Identifier: Apache-2.0
/*
 * Running out of file descriptors. What is open keeps working, but nothing new can be opened: no
 * connection, no file; and a listener that cannot accept would spin. As with memory (xalloc.h) the
 * safest answer is one clear line and the end with EXIT_FAILURE: every process is restartable and
 * rebuilds its state, and a leak, if it was one, is gone.
 */
#pragma once

/* Ends the process when `error`, an errno with or without a minus, says that there are none left. */
void descriptors_check(int error);

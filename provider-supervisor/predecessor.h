// SPDX-License-Identifier: Apache-2.0
/*
 * Another sluice-proxy for the same state folder, such as one whose socket somebody has removed, or that was started with another folder for
 * its sockets: two of them would both start the proxy. The elder is asked to let go, by SIGUSR1: it ends and leaves the proxy to us, unless it
 * is draining that.
 */
#pragma once

/* Waits for its end, for a second; one that is stopped is killed. */
void predecessor_end(const char *state_dir);

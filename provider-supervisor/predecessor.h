// SPDX-License-Identifier: Apache-2.0
/*
 * Another sluice-proxy for the same state folder, such as one whose socket somebody has removed, or that was started with another folder for
 * its sockets: both would start the proxy. The older one is asked by SIGUSR1 to let go: it ends and leaves the proxy to us, unless it is
 * draining it.
 */
#pragma once

/* Waits for its end, for a second; one that is stopped is killed. */
void predecessor_end(const char *state_dir);

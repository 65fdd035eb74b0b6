// SPDX-License-Identifier: Apache-2.0
/*
 * The two clocks. How long something takes, or when it is due, is told by the monotonic one, which
 * nobody can set; only what is a date (in a log line, a certificate, an object of Kubernetes) is
 * told by the wall clock, which may jump by any time in both directions. libev's timers run by the
 * monotonic clock, ev_now() and ev_time() by the wall clock: that is why neither is used.
 *
 * Nothing else of ours asks for the time.
 */
#pragma once

#include <stdint.h>
#include <time.h>

/* Seconds since some instant of the past; never goes back. */
double clock_monotonic_s(void);

/* The date. */
struct timespec clock_wall(void);
/* The same in whole seconds of Unix time. */
int64_t clock_wall_s(void);

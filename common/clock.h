// SPDX-License-Identifier: Apache-2.0
/*
 * The two clocks. Durations and deadlines use the monotonic clock, which nobody can set; only dates
 * (in a log line, a certificate, an object of Kubernetes) use the wall clock, which may jump in
 * both directions. libev's timers use the monotonic clock, but ev_now() and ev_time() use the wall
 * clock, and are therefore not used.
 *
 * All other code gets the time from here.
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

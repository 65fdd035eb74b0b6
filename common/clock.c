// SPDX-License-Identifier: Apache-2.0
#include "common/clock.h"

#include "common/must.h"

static struct timespec read_clock(clockid_t id)
{
	struct timespec now;
	must(clock_gettime(id, &now) == 0);
	return now;
}

double clock_monotonic_s(void)
{
	struct timespec now = read_clock(CLOCK_MONOTONIC);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

struct timespec clock_wall(void)
{
	return read_clock(CLOCK_REALTIME);
}

int64_t clock_wall_s(void)
{
	return (int64_t)clock_wall().tv_sec;
}

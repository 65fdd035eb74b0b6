// SPDX-License-Identifier: Apache-2.0
#include "provider-proxy/pace.h"

#include "common/must.h"

#include <math.h>

void pace_init(struct pace *pace, double least_s, double most_s)
{
	must(least_s > 0);
	*pace = (struct pace){.least_s = least_s, .most_s = most_s > least_s ? most_s : least_s};
}

static double left_at(const struct pace *pace, double now_s)
{
	double left = pace->count - (now_s - pace->last_s) / pace->most_s;
	return left > 0 ? left : 0;
}

static double pause_s(const struct pace *pace)
{
	double over = ceil(pace->count) - PACE_FREE_COUNT;
	double pause = over > 0 ? ldexp(pace->least_s, over < 60 ? (int)over : 60) : pace->least_s;
	return pause < pace->most_s ? pause : pace->most_s;
}

double pace_wait_s(const struct pace *pace, double now_s)
{
	if (pace->count <= 0)
		return 0;
	double wait = pace->last_s + pause_s(pace) - now_s;
	return wait > 0 ? wait : 0;
}

void pace_step(struct pace *pace, double now_s)
{
	pace->count = left_at(pace, now_s) + 1;
	pace->last_s = now_s;
}

// SPDX-License-Identifier: Apache-2.0
#include "proto/leadership.h"

#include <time.h>

void leadership_connected(struct leadership *leadership)
{
	leadership->is_told = false;
}

void leadership_take(struct leadership *leadership, const struct lead *lead)
{
	leadership->is_told = true;
	leadership->is_elected = true;
	leadership->until_ms = lead->until_ms;
}

bool leadership_settle(struct leadership *leadership)
{
	bool was_elected = leadership->is_elected;
	if (leadership->is_told)
		return false;
	leadership->is_elected = false;
	return was_elected;
}

bool leadership_holds(const struct leadership *leadership, uint64_t now_ms)
{
	return !leadership->is_elected || now_ms < leadership->until_ms;
}

uint64_t leadership_left_ms(const struct leadership *leadership, uint64_t now_ms)
{
	if (!leadership->is_elected)
		return UINT64_MAX;
	return now_ms < leadership->until_ms ? leadership->until_ms - now_ms : 0;
}

uint64_t leadership_clock_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_BOOTTIME, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

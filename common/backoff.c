// SPDX-License-Identifier: Apache-2.0
#include "common/backoff.h"

#include <bsd/stdlib.h>

void backoff_init(struct backoff *b, double first_s, double cap_s)
{
	*b = (struct backoff){.first_s = first_s, .cap_s = cap_s};
}

double backoff_random(void)
{
	return (double)arc4random() / 4294967296.0;
}

double backoff_next(struct backoff *b)
{
	b->step_s = b->step_s <= 0 ? b->first_s : b->step_s * 2;
	if (b->step_s > b->cap_s)
		b->step_s = b->cap_s;
	return b->step_s * (1.0 + backoff_random());
}

void backoff_succeeded(struct backoff *b)
{
	b->step_s = 0;
}

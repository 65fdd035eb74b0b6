// SPDX-License-Identifier: Apache-2.0
/*
 * Exponential back-off with jitter. A delay is the current step times a random factor in [1, 2), as
 * in client-go's reflector; the step doubles from first_s to cap_s and falls back to first_s on
 * success.
 */
#pragma once

struct backoff {
	double first_s;
	double cap_s;
	double step_s; /* 0: nothing has failed since the last success */
};

void backoff_init(struct backoff *b, double first_s, double cap_s);
/* The delay before the next try, in seconds; at most 2 * cap_s. */
double backoff_next(struct backoff *b);
void backoff_succeeded(struct backoff *b);
/* A random number in [0, 1); not for secrets. */
double backoff_random(void);

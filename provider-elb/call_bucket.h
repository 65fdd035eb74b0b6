// SPDX-License-Identifier: Apache-2.0
/*
 * The token bucket of one class of calls. AWS's own buckets are shared by everybody who uses the account, and nobody tells how full they are: when AWS
 * throttles a class, ours goes at half its rate after a pause, and gets a tenth of the whole rate back for each minute without a further throttling. No I/O; `now` is
 * monotonic time in seconds.
 */
#pragma once

#include "common/backoff.h"

#include <stdbool.h>

struct call_bucket {
	double per_s; /* without throttling */
	double burst;
	double share; /* of per_s and burst, at most 1 */
	double tokens;
	double filled_at;
	double quiet_since; /* counts towards a greater share */
	double paused_until;
	struct backoff backoff;
};

/* Full. Both are above 0; a burst is at least 1. */
void call_bucket_init(struct call_bucket *bucket, double per_s, double burst, double now);
/* 0: a call can be made now; else the seconds until then. */
double call_bucket_wait_s(struct call_bucket *bucket, double now);
/* A call is made; only when call_bucket_wait_s() is 0. */
void call_bucket_take(struct call_bucket *bucket, double now);
/* The turn was not used. */
void call_bucket_return(struct call_bucket *bucket);
/* AWS throttles. Calls that were under way together count once. retry_after_s < 0: AWS names no time. */
void call_bucket_throttled(struct call_bucket *bucket, double retry_after_s, double now);
/* A call was not throttled. */
void call_bucket_succeeded(struct call_bucket *bucket, double now);
/* Calls a second. */
double call_bucket_rate(struct call_bucket *bucket, double now);

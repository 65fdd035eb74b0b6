// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/call_bucket.h"

#include "common/must.h"

#include <math.h>

/* Pauses after throttling: 1 to 2 s at first, up to a minute. */
static const double PAUSE_FIRST_S = 1;
static const double PAUSE_CAP_S = 30;
static const double PAUSE_MAX_S = 60;
static const double SHARE_MIN = 1. / 32;
static const double SHARE_STEP = 0.1;
static const double QUIET_S = 60;

void call_bucket_init(struct call_bucket *bucket, double per_s, double burst, double now)
{
	must(per_s > 0 && burst >= 1);
	*bucket = (struct call_bucket){.per_s = per_s,
		.burst = burst,
		.share = 1,
		.tokens = burst,
		.filled_at = now,
		.quiet_since = now};
	backoff_init(&bucket->backoff, PAUSE_FIRST_S, PAUSE_CAP_S);
}

/* Brings share and tokens up to now. */
static void fill(struct call_bucket *bucket, double now)
{
	double minutes = floor((now - bucket->quiet_since) / QUIET_S);
	if (minutes > 0) {
		bucket->share = fmin(1, bucket->share + SHARE_STEP * minutes);
		bucket->quiet_since += QUIET_S * minutes;
	}
	double tokens = bucket->tokens + (now - bucket->filled_at) * bucket->per_s * bucket->share;
	bucket->tokens = fmin(tokens, fmax(1, bucket->burst * bucket->share));
	bucket->filled_at = now;
}

double call_bucket_wait_s(struct call_bucket *bucket, double now)
{
	/* What rounding takes away may not make a timer come too early again and again. */
	static const double nearly_one = 1 - 1e-6;
	fill(bucket, now);
	double wait_s = bucket->tokens >= nearly_one
				? 0
				: (1 - bucket->tokens) / (bucket->per_s * bucket->share);
	return fmax(wait_s, bucket->paused_until - now);
}

void call_bucket_take(struct call_bucket *bucket, double now)
{
	fill(bucket, now);
	bucket->tokens = fmax(0, bucket->tokens - 1);
}

void call_bucket_return(struct call_bucket *bucket)
{
	bucket->tokens += 1;
}

void call_bucket_throttled(struct call_bucket *bucket, double retry_after_s, double now)
{
	fill(bucket, now);
	bucket->quiet_since = now;
	if (now < bucket->paused_until)
		return;
	bucket->share = fmax(SHARE_MIN, bucket->share / 2);
	bucket->tokens = fmin(bucket->tokens, 1);
	double pause_s = fmax(backoff_next(&bucket->backoff), fmin(retry_after_s, PAUSE_MAX_S));
	bucket->paused_until = now + pause_s;
}

void call_bucket_succeeded(struct call_bucket *bucket, double now)
{
	/* One that had been sent before the throttling says nothing. */
	if (now >= bucket->paused_until)
		backoff_succeeded(&bucket->backoff);
}

double call_bucket_rate(struct call_bucket *bucket, double now)
{
	fill(bucket, now);
	return bucket->per_s * bucket->share;
}

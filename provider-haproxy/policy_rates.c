// SPDX-License-Identifier: Apache-2.0
#include "provider-haproxy/policy_rates.h"

#include <inttypes.h>

/* How many ticks of the clock each request counts for a second of the interval, for rates.cfg.tmpl; 0: no such clock fits. Its 32 bits have to last longer than the
 * table keeps an entry, and the fullest bucket has to fit a fourth of them. */
static uint64_t ticks_of(const struct rate_limit *limit)
{
	enum { TICKS_A_SECOND_MAX = 5000000, BUCKET_TICKS_MAX = 1 << 30, BUCKET_S_MAX = 500 };
	uint64_t full = (limit->burst + 1) * limit->interval_s;
	uint64_t by_clock = TICKS_A_SECOND_MAX / limit->requests;
	uint64_t by_bucket = BUCKET_TICKS_MAX / full;
	if (full / limit->requests > BUCKET_S_MAX)
		return 0;
	return by_clock < by_bucket ? by_clock : by_bucket;
}

/* Whether HAProxy's own tables do, which follow two at a time besides that of concurrent requests. */
static bool are_in_table(const struct rate_limits *limits)
{
	if (limits == NULL || limits->requests.count == 0 || limits->requests.count > 2)
		return false;
	for (size_t i = 0; i < limits->requests.count; i++) {
		if (ticks_of(&limits->requests.items[i]) == 0)
			return false;
	}
	return true;
}

static struct str buckets_text(struct arena *arena, const struct rate_limits *limits)
{
	struct str text = STR("");
	for (size_t i = 0; i < limits->requests.count; i++) {
		const struct rate_limit *limit = &limits->requests.items[i];
		uint64_t ticks = ticks_of(limit), step = ticks * limit->interval_s;
		text = arena_printf(arena, "%.*s%s%" PRIu64 ";%" PRIu64 ";%" PRIu64 ";%" PRIu64,
			STR_FMT(text), i != 0 ? ";" : "", ticks * limit->requests, step,
			step * limit->burst, step * (limit->burst + 1));
	}
	return text;
}

/* For Lua. */
static struct str limits_text(struct arena *arena, const struct rate_limits *limits)
{
	struct str text = STR("");
	for (size_t i = 0; i < limits->requests.count; i++) {
		const struct rate_limit *limit = &limits->requests.items[i];
		text = arena_printf(arena, "%.*s%s%" PRIu64 ";%" PRIu64 ";%" PRIu64, STR_FMT(text),
			i != 0 ? "&" : "", limit->requests, limit->interval_s, limit->burst);
	}
	return text;
}

struct str policy_rates_text(struct arena *arena, const struct rate_limits *limits)
{
	if (limits == NULL)
		return STR("||");
	struct str text =
		are_in_table(limits) ? buckets_text(arena, limits) : limits_text(arena, limits);
	return arena_printf(arena, "%.*s|%" PRIu64 "|%" PRIu64, STR_FMT(text), limits->concurrent,
		limits->status != 0 ? limits->status : 429);
}

const char *policy_rates_flags(const struct rate_limits *limits)
{
	if (limits == NULL || limits->requests.count == 0)
		return "";
	if (!are_in_table(limits))
		return "r";
	return limits->requests.count == 2 ? "bi" : "b";
}

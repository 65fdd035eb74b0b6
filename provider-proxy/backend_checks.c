// SPDX-License-Identifier: Apache-2.0
#include "provider-proxy/backend_checks.h"

#include "provider-proxy/checks.h"
#include "provider-proxy/policy_checks.h"

#include <string.h>

enum {
	RETRY_MS_MAX = 24 * 3600 * 1000,
	COOKIE_PATH_LEN_MAX = 1024, /* a browser keeps no longer one */
	COOKIE_SECONDS_MAX = 100 * 366 * 24 * 3600LL,
};
/* Whoever sends faster is not slowed down; a proxy can count with it. */
static const uint64_t rate_max = UINT64_C(1) << 40;

static uint64_t cut(uint64_t value, uint64_t max)
{
	return value < max ? value : max;
}

/* ---- policies ---- */

static const char *settle_retries(struct policy *policy, struct arena *arena)
{
	const struct retries *retries = policy->retries;
	if (retries == NULL)
		return NULL;
	struct retries *copy = arena_calloc(arena, 1, sizeof(*copy));
	*copy = *retries;
	copy->timeout_ms = cut(retries->timeout_ms, RETRY_MS_MAX);
	copy->statuses.items =
		arena_calloc(arena, retries->statuses.count + 1, sizeof(*copy->statuses.items));
	copy->statuses.count = 0;
	for (size_t i = 0; i < retries->statuses.count; i++) {
		const struct status_code *code = &retries->statuses.items[i];
		if (code->status >= 400 && code->status <= 599)
			copy->statuses.items[copy->statuses.count++] = *code;
	}
	policy->retries = copy;
	return copy->statuses.count == retries->statuses.count
		       ? NULL
		       : "a status at which another endpoint is asked";
}

static const char *settle_bandwidth(struct policy *policy, struct arena *arena)
{
	const struct bandwidth *bandwidth = policy->bandwidth;
	if (bandwidth == NULL)
		return NULL;
	struct bandwidth *copy = arena_calloc(arena, 1, sizeof(*copy));
	copy->bytes_per_s = cut(bandwidth->bytes_per_s, rate_max);
	copy->after_bytes = cut(bandwidth->after_bytes, rate_max);
	policy->bandwidth = copy->bytes_per_s != 0 ? copy : NULL;
	return copy->bytes_per_s != 0 ? NULL : "the bandwidth";
}

/* What stands in an attribute of a cookie, which a semicolon ends. */
static bool is_attribute(struct str text)
{
	return check_text(text) && str_find(text, ';') == NULL;
}

enum { PATTERN_LEN_MAX = 128 /* it is tried at each byte of a text */ };

/* Texts that are put into a header, each in place of another one. The number that is left. */
static size_t keep_texts(struct arena *arena, const struct text_change *items, size_t count,
	bool (*is_good)(struct str text), struct text_change **ret_items)
{
	struct text_change *kept = arena_calloc(arena, count + 1, sizeof(*kept));
	size_t kept_count = 0;
	for (size_t i = 0; i < count; i++) {
		bool is_short = !items[i].pattern ||
				(items[i].from.len != 0 && items[i].from.len <= PATTERN_LEN_MAX);
		if (is_short && is_good(items[i].from) && is_good(items[i].to))
			kept[kept_count++] = items[i];
	}
	*ret_items = kept;
	return kept_count;
}

static const char *settle_texts(struct policy *policy, struct arena *arena)
{
	size_t before = policy->location_changes.count + policy->cookie_domains.count +
			policy->cookie_paths.count;
	policy->location_changes.count = keep_texts(arena, policy->location_changes.items,
		policy->location_changes.count, check_text, &policy->location_changes.items);
	policy->cookie_domains.count = keep_texts(arena, policy->cookie_domains.items,
		policy->cookie_domains.count, is_attribute, &policy->cookie_domains.items);
	policy->cookie_paths.count = keep_texts(arena, policy->cookie_paths.items,
		policy->cookie_paths.count, is_attribute, &policy->cookie_paths.items);
	size_t after = policy->location_changes.count + policy->cookie_domains.count +
		       policy->cookie_paths.count;
	return before == after ? NULL : "a change of the backend's Location or Set-Cookie";
}

const char *backend_settle_policy(struct policy *policy, struct arena *arena)
{
	const char *problems[] = {settle_retries(policy, arena), settle_bandwidth(policy, arena),
		settle_texts(policy, arena)};
	for (size_t i = 0; i < sizeof(problems) / sizeof(problems[0]); i++) {
		if (problems[i] != NULL)
			return problems[i];
	}
	return NULL;
}

/* ---- pools ---- */

bool backend_has_cookie_path(const struct path_rule *rule)
{
	struct str path = rule->cookie_path;
	return !str_is_empty(path) && is_attribute(path) && path.len <= COOKIE_PATH_LEN_MAX;
}

static const char *settle_affinity(struct pool *pool, struct arena *arena)
{
	if (pool->stickiness == NULL || pool->stickiness->affinity == NULL)
		return NULL;
	struct stickiness *stickiness = arena_calloc(arena, 1, sizeof(*stickiness));
	struct affinity *affinity = arena_calloc(arena, 1, sizeof(*affinity));
	*stickiness = *pool->stickiness;
	*affinity = *stickiness->affinity;
	affinity->max_age_s = cut(affinity->max_age_s, COOKIE_SECONDS_MAX);
	affinity->expires_s = cut(affinity->expires_s, COOKIE_SECONDS_MAX);
	bool is_good = is_attribute(affinity->path) && affinity->path.len <= COOKIE_PATH_LEN_MAX;
	if (!is_good)
		affinity->path = STR("");
	stickiness->affinity = affinity;
	pool->stickiness = stickiness;
	return is_good ? NULL : "the path of the stickiness cookie";
}

const char *backend_settle_pool(struct pool *pool, struct arena *arena)
{
	const char *problem = settle_affinity(pool, arena);
	if (check_pieces(pool->hash.items, pool->hash.count))
		return problem;
	pool->hash.count = 0;
	return "what requests are told apart by";
}

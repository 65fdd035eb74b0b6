// SPDX-License-Identifier: Apache-2.0
#include "provider-haproxy/policy_others.h"

#include "provider-haproxy/policies_text.h"

#include <inttypes.h>

struct str policy_others_pages(struct arena *arena, const struct error_pages *pages)
{
	if (pages == NULL)
		return STR("|||");
	struct str statuses = pages->own_only ? STR("o,") : STR("b,");
	for (size_t i = 0; i < pages->statuses.count && statuses.len <= POLICIES_TEXT_LEN_MAX; i++)
		statuses = arena_printf(arena, "%.*s%" PRIu64 ",", STR_FMT(statuses),
			pages->statuses.items[i].status);
	struct str pool = policies_pool_name(arena, pages->pool);
	struct str target = policies_pieces(arena, pages->target.items, pages->target.count);
	struct str changes =
		policies_changes(arena, pages->request_headers.items, pages->request_headers.count);
	return arena_printf(arena, "%.*s|%.*s|%.*s|%.*s", STR_FMT(statuses), STR_FMT(pool),
		STR_FMT(target), STR_FMT(changes));
}

/* What HAProxy does not do for each request by itself. */
static bool is_odd(const struct retries *retries)
{
	return retries != NULL && (retries->on_timeout || retries->on_invalid || retries->unsafe ||
					  retries->statuses.count != 0);
}

struct str policy_others_retries(struct arena *arena, const struct retries *retries)
{
	struct str statuses = STR(",");
	if (!is_odd(retries))
		return STR("");
	for (size_t i = 0; i < retries->statuses.count && statuses.len <= POLICIES_TEXT_LEN_MAX;
		i++)
		statuses = arena_printf(arena, "%.*s%" PRIu64 ",", STR_FMT(statuses),
			retries->statuses.items[i].status);
	return arena_printf(arena, "%s%s%s%s;%" PRIu64 ";%" PRIu64 ";%.*s",
		retries->on_error ? "e" : "", retries->on_timeout ? "t" : "",
		retries->on_invalid ? "i" : "", retries->unsafe ? "u" : "", retries->tries,
		retries->timeout_ms, STR_FMT(statuses));
}

bool policy_others_sends_once(const struct retries *retries)
{
	return retries != NULL && (retries->tries == 1 || (!retries->on_error && !is_odd(retries)));
}

struct str policy_others_mirrors(struct arena *arena, const struct policy *policy)
{
	struct str text = STR("");
	for (size_t i = 0; i < policy->mirrors.count && text.len <= POLICIES_TEXT_LEN_MAX; i++) {
		const struct mirror *mirror = &policy->mirrors.items[i];
		struct str pool = policies_pool_name(arena, mirror->pool);
		struct str host = policies_pieces(arena, mirror->host.items, mirror->host.count);
		struct str target =
			policies_pieces(arena, mirror->target.items, mirror->target.count);
		text = arena_printf(arena, "%.*s|%.*s;%.*s;%.*s;%s;%" PRIu64 ";%" PRIu64,
			STR_FMT(text), STR_FMT(pool), STR_FMT(host), STR_FMT(target),
			mirror->without_body ? "b" : "", mirror->share,
			mirror->of != 0 ? mirror->of : 100);
	}
	return text;
}

static bool name_service(const struct piece *pieces, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (pieces[i].value == REQUEST_SERVICE || pieces[i].value == REQUEST_SERVICE_PORT)
			return true;
	}
	return false;
}

static bool changes_name_service(const struct header_change *changes, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (name_service(changes[i].value.items, changes[i].value.count))
			return true;
	}
	return false;
}

static bool others_name_service(const struct policy *policy)
{
	const struct external_auth *auth = policy->external_auth;
	const struct error_pages *pages = policy->error_pages;
	for (size_t i = 0; i < policy->mirrors.count; i++) {
		const struct mirror *mirror = &policy->mirrors.items[i];
		if (name_service(mirror->host.items, mirror->host.count) ||
			name_service(mirror->target.items, mirror->target.count))
			return true;
	}
	return (pages != NULL && (name_service(pages->target.items, pages->target.count) ||
					 changes_name_service(pages->request_headers.items,
						 pages->request_headers.count))) ||
	       (auth != NULL &&
		       (name_service(auth->target.items, auth->target.count) ||
			       name_service(auth->host.items, auth->host.count) ||
			       name_service(auth->sign_in.items, auth->sign_in.count) ||
			       name_service(auth->cache_key.items, auth->cache_key.count) ||
			       changes_name_service(
				       auth->request_headers.items, auth->request_headers.count)));
}

bool policy_others_name_service(const struct policy *policy)
{
	return others_name_service(policy) ||
	       name_service(policy->rewrite.items, policy->rewrite.count) ||
	       changes_name_service(policy->request_headers.items, policy->request_headers.count) ||
	       changes_name_service(
		       policy->response_headers.items, policy->response_headers.count) ||
	       changes_name_service(policy->fallback_headers.items, policy->fallback_headers.count);
}

// SPDX-License-Identifier: Apache-2.0
#include "provider-proxy/asking_checks.h"

#include "provider-proxy/checks.h"
#include "provider-proxy/policy_checks.h"

static void leave_out(struct str *problem, struct arena *arena, const char *what)
{
	if (problem->p == NULL)
		*problem = arena_printf(arena, "%s cannot be used, and is left out", what);
}

static bool are_changes(const struct header_change *items, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (!check_changeable_header(items[i].name) ||
			!check_pieces(items[i].value.items, items[i].value.count))
			return false;
	}
	return true;
}

static bool is_status(uint64_t status, uint64_t min)
{
	return status >= min && status <= 599;
}

/* ---- external authentication ---- */

static bool are_times(const struct external_auth *auth)
{
	for (size_t i = 0; i < auth->cache_times.count; i++) {
		if (!is_status(auth->cache_times.items[i].status, 100) ||
			auth->cache_times.items[i].seconds == 0)
			return false;
	}
	return true;
}

static bool are_names(const struct external_auth *auth)
{
	for (size_t i = 0; i < auth->copied.count; i++) {
		if (!check_changeable_header(auth->copied.items[i]))
			return false;
	}
	return str_is_empty(auth->method) || check_token(auth->method);
}

static bool is_auth(const struct external_auth *auth)
{
	return auth->target.count != 0 && check_pieces(auth->target.items, auth->target.count) &&
	       check_pieces(auth->host.items, auth->host.count) &&
	       check_pieces(auth->sign_in.items, auth->sign_in.count) &&
	       check_pieces(auth->cache_key.items, auth->cache_key.count) &&
	       are_changes(auth->request_headers.items, auth->request_headers.count) &&
	       are_names(auth) && are_times(auth);
}

/* ---- mirrors and error pages ---- */

static bool is_mirror(const struct mirror *mirror)
{
	return !str_is_empty(mirror->pool) &&
	       check_pieces(mirror->host.items, mirror->host.count) &&
	       check_pieces(mirror->target.items, mirror->target.count);
}

static void settle_mirrors(struct policy *policy, struct arena *arena, struct str *problem)
{
	size_t count = 0;
	struct mirror *kept = arena_calloc(arena, policy->mirrors.count + 1, sizeof(*kept));
	for (size_t i = 0; i < policy->mirrors.count; i++) {
		if (is_mirror(&policy->mirrors.items[i]))
			kept[count++] = policy->mirrors.items[i];
		else
			leave_out(problem, arena, "a mirror");
	}
	policy->mirrors.items = kept;
	policy->mirrors.count = count;
}

static bool are_pages(const struct error_pages *pages)
{
	for (size_t i = 0; i < pages->statuses.count; i++) {
		if (!is_status(pages->statuses.items[i].status, 400))
			return false;
	}
	if (pages->missing_status != 0 && !is_status(pages->missing_status, 400))
		return false;
	return (!str_is_empty(pages->pool) || pages->missing_status != 0) &&
	       check_pieces(pages->target.items, pages->target.count) &&
	       are_changes(pages->request_headers.items, pages->request_headers.count);
}

bool asking_settle_policy(struct policy *policy, struct arena *arena, struct str *ret_problem)
{
	settle_mirrors(policy, arena, ret_problem);
	if (policy->error_pages != NULL && !are_pages(policy->error_pages)) {
		policy->error_pages = NULL;
		leave_out(ret_problem, arena, "who answers in place of errors");
	}
	if (!are_changes(policy->fallback_headers.items, policy->fallback_headers.count)) {
		policy->fallback_headers.count = 0;
		leave_out(ret_problem, arena, "a header for the pool that stands in");
	}
	if (policy->external_auth == NULL || is_auth(policy->external_auth))
		return true;
	*ret_problem = STR("the external authentication cannot be used: its requests are answered "
			   "with 503");
	return false;
}

const char *client_tls_problem(const struct client_tls *client)
{
	enum { DEPTH_MAX = 16 };
	for (size_t i = 0; i < client->subject.len; i++) {
		uint8_t c = (uint8_t)client->subject.p[i];
		if (c < 0x20 || c == 0x7f)
			return "the subject of its clients' certificates cannot be compared";
	}
	if (client->subject.len > CHECK_REGEX_LEN_MAX)
		return "the subject of its clients' certificates cannot be compared";
	if (client->depth > DEPTH_MAX ||
		(client->error_path.len != 0 && !check_path(client->error_path)) ||
		!check_pieces(client->error_location.items, client->error_location.count))
		return "what it wants of its clients' certificates cannot be used";
	return NULL;
}

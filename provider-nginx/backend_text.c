// SPDX-License-Identifier: Apache-2.0
#include "provider-nginx/backend_text.h"

static void add_flag(struct tree_text *tree, const char *word, bool is_set)
{
	if (is_set)
		tree_add_flag(tree, word);
}

static void add_number(struct tree_text *tree, const char *word, uint64_t number)
{
	if (number != 0)
		tree_add_number_pair(tree, word, number);
}

static void add_changes(
	struct tree_text *tree, const char *word, const struct text_change *items, size_t count)
{
	if (count == 0)
		return;
	tree_open(tree, word);
	for (size_t i = 0; i < count; i++) {
		tree_add(tree, items[i].from);
		tree_add(tree, items[i].to);
	}
	tree_close(tree);
}

/* Also the way of those of its requests that must not be sent again. */
static bool add_retries(
	struct tree_text *tree, const struct retries *retries, bool has_buffer, struct ways *ways)
{
	bool is_whole;
	unsigned statuses = ways_statuses_of(retries, &is_whole);
	bool has_way = ways_need_location(retries, statuses);
	struct way way = {.has_retries = has_way, .has_buffer = has_buffer, .statuses = statuses};
	if (ways != NULL)
		ways_add(ways, &way);
	tree_open(tree, "retries");
	add_flag(tree, "on_error", retries->on_error);
	add_flag(tree, "on_timeout", retries->on_timeout);
	add_flag(tree, "on_invalid", retries->on_invalid);
	add_flag(tree, "unsafe", retries->unsafe);
	add_number(tree, "tries", retries->tries);
	add_number(tree, "timeout", retries->timeout_ms);
	if (has_way)
		tree_add_number_pair(tree, "statuses", statuses);
	tree_close(tree);
	return is_whole;
}

bool backend_text_add_policy(struct tree_text *tree, const struct policy *policy, struct ways *ways)
{
	bool has_buffer = policy->buffering != NULL && policy->buffering->response;
	bool is_whole = true;
	if (policy->retries != NULL)
		is_whole = add_retries(tree, policy->retries, has_buffer, ways);
	if (has_buffer && ways != NULL)
		ways_add(ways, &(struct way){.has_buffer = true});
	if (policy->buffering != NULL) {
		tree_open(tree, "buffering");
		add_flag(tree, "request", policy->buffering->request);
		add_flag(tree, "response", policy->buffering->response);
		tree_close(tree);
	}
	if (policy->bandwidth != NULL) {
		tree_open(tree, "bandwidth");
		tree_add_number(tree, policy->bandwidth->bytes_per_s);
		tree_add_number(tree, policy->bandwidth->after_bytes);
		tree_close(tree);
	}
	add_changes(tree, "location_changes", policy->location_changes.items,
		policy->location_changes.count);
	add_changes(
		tree, "cookie_domains", policy->cookie_domains.items, policy->cookie_domains.count);
	add_changes(tree, "cookie_paths", policy->cookie_paths.items, policy->cookie_paths.count);
	return is_whole;
}

void backend_text_add_affinity(struct tree_text *tree, const struct affinity *affinity)
{
	static const char *const same_sites[] = {[SAME_SITE_ABSENT] = "",
		[SAME_SITE_NONE] = "None",
		[SAME_SITE_LAX] = "Lax",
		[SAME_SITE_STRICT] = "Strict"};
	static const char *const places[] = {
		[SECURE_NEVER] = "never", [SECURE_TLS] = "tls", [SECURE_ALWAYS] = "always"};
	tree_open(tree, NULL);
	if (!str_is_empty(affinity->path))
		tree_add_pair(tree, "path", affinity->path);
	add_number(tree, "max_age", affinity->max_age_s);
	add_number(tree, "expires", affinity->expires_s);
	if (affinity->same_site != SAME_SITE_ABSENT)
		tree_add_pair(tree, "same_site", str_from(same_sites[affinity->same_site]));
	add_flag(tree, "same_site_known", affinity->same_site_known);
	tree_add_pair(tree, "secure", str_from(places[affinity->secure]));
	add_flag(tree, "stays", affinity->stays);
	tree_close(tree);
}

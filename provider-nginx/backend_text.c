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
		if (items[i].pattern)
			tree_open(tree, "pattern");
		tree_add(tree, items[i].from);
		if (items[i].pattern)
			tree_close(tree);
		tree_add(tree, items[i].to);
	}
	tree_close(tree);
}

/* Also those of requests that must not be sent again, and of answers for which there is no room on the disk. */
static void add_ways(struct ways *ways, const struct policy *policy, unsigned statuses)
{
	bool has_way = policy->retries != NULL && ways_need_location(policy->retries, statuses);
	bool has_disk = policy->buffering != NULL && policy->buffering->response;
	enum way_buffer first = policy->bandwidth != NULL || has_disk ? WAY_MEMORY : WAY_STREAMS;
	enum way_buffer last = has_disk ? WAY_DISK : first;
	bool is_old = policy->backend_http != NULL && policy->backend_http->version_1_0;
	for (enum way_buffer buffer = first; buffer <= last; buffer++) {
		ways_add(ways, &(struct way){.is_old = is_old, .buffer = buffer});
		ways_add(ways, &(struct way){.is_old = is_old,
				       .has_retries = has_way,
				       .buffer = buffer,
				       .statuses = statuses});
	}
}

static void add_retries(struct tree_text *tree, const struct retries *retries, unsigned statuses)
{
	tree_open(tree, "retries");
	add_flag(tree, "on_error", retries->on_error);
	add_flag(tree, "on_timeout", retries->on_timeout);
	add_flag(tree, "on_invalid", retries->on_invalid);
	add_flag(tree, "unsafe", retries->unsafe);
	add_number(tree, "tries", retries->tries);
	add_number(tree, "timeout", retries->timeout_ms);
	if (ways_need_location(retries, statuses))
		tree_add_number_pair(tree, "statuses", statuses);
	tree_close(tree);
}

bool backend_text_add_policy(struct tree_text *tree, const struct policy *policy, struct ways *ways)
{
	bool is_whole = true;
	unsigned statuses = 0;
	if (policy->retries != NULL) {
		statuses = ways_statuses_of(policy->retries, &is_whole);
		add_retries(tree, policy->retries, statuses);
	}
	if (ways != NULL)
		add_ways(ways, policy, statuses);
	if (policy->buffering != NULL) {
		tree_open(tree, "buffering");
		add_flag(tree, "request", policy->buffering->request);
		add_flag(tree, "response", policy->buffering->response);
		tree_close(tree);
	}
	if (policy->backend_http != NULL) {
		enum backend_connection connection = policy->backend_http->connection;
		tree_open(tree, "backend_http");
		add_flag(tree, "old", policy->backend_http->version_1_0);
		if (connection != CONNECTION_OWN)
			tree_add_pair(tree, "connection",
				connection == CONNECTION_CLOSE ? STR("close") : STR("keep-alive"));
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
	add_flag(tree, "balanced", affinity->balanced);
	tree_close(tree);
}

// SPDX-License-Identifier: Apache-2.0
#include "provider-nginx/asking_text.h"

#include "provider-nginx/piece_text.h"
#include "provider-proxy/names.h"

static void add_pool(struct tree_text *tree, const char *word, struct str id)
{
	struct name name = name_of(NAME_POOL, id);
	if (!str_is_empty(id))
		tree_add_pair(tree, word, name_str(&name));
}

static void add_pieces(
	struct tree_text *tree, const char *word, const struct piece *pieces, size_t count)
{
	if (count != 0)
		piece_text_add(tree, word, pieces, count);
}

static void add_cache(struct tree_text *tree, const struct external_auth *auth)
{
	add_pieces(tree, "cache_key", auth->cache_key.items, auth->cache_key.count);
	if (auth->cache_times.count == 0)
		return;
	tree_open(tree, "cache_times");
	for (size_t i = 0; i < auth->cache_times.count; i++) {
		tree_add_number(tree, auth->cache_times.items[i].status);
		tree_add_number(tree, auth->cache_times.items[i].seconds);
	}
	tree_close(tree);
}

static void add_auth(struct tree_text *tree, const struct external_auth *auth)
{
	tree_open(tree, "external_auth");
	add_pool(tree, "pool", auth->pool);
	if (!str_is_empty(auth->method))
		tree_add_pair(tree, "method", auth->method);
	add_pieces(tree, "host", auth->host.items, auth->host.count);
	add_pieces(tree, "target", auth->target.items, auth->target.count);
	piece_text_add_changes(
		tree, "request_headers", auth->request_headers.items, auth->request_headers.count);
	if (auth->copied.count != 0) {
		tree_open(tree, "copied");
		for (size_t i = 0; i < auth->copied.count; i++)
			tree_add(tree, auth->copied.items[i]);
		tree_close(tree);
	}
	add_pieces(tree, "sign_in", auth->sign_in.items, auth->sign_in.count);
	if (auth->cookies_always)
		tree_add_flag(tree, "cookies_always");
	add_cache(tree, auth);
	tree_close(tree);
}

static void add_mirrors(struct tree_text *tree, const struct policy *policy)
{
	if (policy->mirrors.count == 0)
		return;
	tree_open(tree, "mirrors");
	for (size_t i = 0; i < policy->mirrors.count; i++) {
		const struct mirror *mirror = &policy->mirrors.items[i];
		tree_open(tree, NULL);
		add_pool(tree, "pool", mirror->pool);
		add_pieces(tree, "host", mirror->host.items, mirror->host.count);
		add_pieces(tree, "target", mirror->target.items, mirror->target.count);
		if (mirror->without_body)
			tree_add_flag(tree, "without_body");
		if (mirror->share != 0) {
			tree_open(tree, "share");
			tree_add_number(tree, mirror->share);
			tree_add_number(tree, mirror->of != 0 ? mirror->of : 100);
			tree_close(tree);
		}
		tree_close(tree);
	}
	tree_close(tree);
}

static void add_error_pages(struct tree_text *tree, const struct error_pages *pages)
{
	tree_open(tree, "error_pages");
	add_pool(tree, "pool", pages->pool);
	tree_open(tree, "statuses");
	for (size_t i = 0; i < pages->statuses.count; i++)
		tree_add_number(tree, pages->statuses.items[i].status);
	tree_close(tree);
	if (pages->own_only)
		tree_add_flag(tree, "own_only");
	if (pages->missing_status != 0)
		tree_add_number_pair(tree, "missing", pages->missing_status);
	if (pages->bare)
		tree_add_flag(tree, "bare");
	add_pieces(tree, "target", pages->target.items, pages->target.count);
	piece_text_add_changes(tree, "request_headers", pages->request_headers.items,
		pages->request_headers.count);
	tree_close(tree);
}

void asking_text_add_policy(struct tree_text *tree, const struct policy *policy)
{
	if (policy->external_auth != NULL)
		add_auth(tree, policy->external_auth);
	add_mirrors(tree, policy);
	if (policy->error_pages != NULL)
		add_error_pages(tree, policy->error_pages);
	add_pool(tree, "fallback_pool", policy->fallback_pool);
	piece_text_add_changes(tree, "fallback_headers", policy->fallback_headers.items,
		policy->fallback_headers.count);
}

static void add_text(struct tree_text *tree, const char *word, struct str text)
{
	if (!str_is_empty(text))
		tree_add_pair(tree, word, text);
}

void asking_text_client(struct tree_text *tree, const struct client_tls *client)
{
	static const char *const ways[] = {[CLIENT_VERIFY_REQUIRED] = "required",
		[CLIENT_VERIFY_OPTIONAL] = "optional",
		[CLIENT_VERIFY_ASKED] = "asked"};
	tree_open(tree, NULL);
	add_text(tree, "ca", client->ca);
	add_text(tree, "crl", client->crl);
	tree_add_pair(tree, "verify", str_from(ways[client->verify]));
	tree_add_number_pair(tree, "depth", client->depth != 0 ? client->depth : 1);
	add_text(tree, "subject", client->subject);
	add_pieces(
		tree, "error_location", client->error_location.items, client->error_location.count);
	add_text(tree, "error_path", client->error_path);
	if (client->passed)
		tree_add_flag(tree, "passed");
	if (client->unasked)
		tree_add_flag(tree, "unasked");
	tree_close(tree);
}

// SPDX-License-Identifier: Apache-2.0
#include "translator/provider_peer.h"

#include "common/xalloc.h"
#include "translator/log_events.h"
#include "translator/policy_words.h"

#include <stdlib.h>

struct provider_peer {
	const struct engine_ops *ops;
	void *ctx;
	bool is_up;
	bool has_source_ranges;
	bool reports_applied;
	bool lacks_udp;
	enum grouping grouping;
	uint64_t policies_missing; /* see policies.h */
	struct str_list protocols; /* owned */
};

struct provider_peer *provider_peer_new(const struct engine_ops *ops, void *ctx)
{
	struct provider_peer *provider = xcalloc(1, sizeof(*provider));
	provider->ops = ops;
	provider->ctx = ctx;
	provider->has_source_ranges = true; /* nothing is refused until a provider is known */
	return provider;
}

static void free_protocols(struct str_list *protocols)
{
	for (size_t i = 0; i < protocols->count; i++)
		free((void *)(uintptr_t)protocols->items[i].p);
	free(protocols->items);
	*protocols = (struct str_list){0};
}

void provider_peer_free(struct provider_peer *provider)
{
	if (provider == NULL)
		return;
	free_protocols(&provider->protocols);
	free(provider);
}

static bool has_word(const struct str_list *list, struct str word)
{
	for (size_t i = 0; i < list->count; i++) {
		if (str_eq(list->items[i], word))
			return true;
	}
	return false;
}

static bool has_source_ranges(const struct capabilities *capabilities)
{
	return has_word(&capabilities->features, STR("source-ranges"));
}

static bool reports_applied(const struct capabilities *capabilities)
{
	return has_word(&capabilities->features, STR("applied"));
}

/* Unlike other protocols it has to be listed, and version 1 has no word for it. */
static bool lacks_udp(const struct hello *peer, const struct capabilities *capabilities)
{
	return peer->version_max < 2 || !has_word(&capabilities->protocols, STR("udp"));
}

/* In version 1 nothing was known of what is done with requests. */
static uint64_t missing_of(const struct hello *peer, const struct capabilities *capabilities)
{
	uint64_t missing = policies_missing(&capabilities->policies);
	return peer->version_max < 2 ? missing | policies_of_requests() : missing;
}

static bool is_same(const struct provider_peer *provider, const struct hello *peer,
	const struct capabilities *now, uint64_t missing)
{
	return provider->lacks_udp == lacks_udp(peer, now) && provider->grouping == now->grouping &&
	       provider->policies_missing == missing &&
	       provider->has_source_ranges == has_source_ranges(now) &&
	       provider->reports_applied == reports_applied(now) &&
	       str_list_eq(&provider->protocols, &now->protocols);
}

bool provider_peer_take_capabilities(struct provider_peer *provider, const struct hello *peer)
{
	static const struct capabilities none = {0};
	const struct capabilities *capabilities =
		peer->capabilities != NULL ? peer->capabilities : &none;
	const struct str_list *protocols = &capabilities->protocols;
	uint64_t missing = missing_of(peer, capabilities);
	if (is_same(provider, peer, capabilities, missing))
		return false;
	free_protocols(&provider->protocols);
	provider->policies_missing = missing;
	provider->has_source_ranges = has_source_ranges(capabilities);
	provider->reports_applied = reports_applied(capabilities);
	provider->lacks_udp = lacks_udp(peer, capabilities);
	provider->grouping = capabilities->grouping;
	provider->protocols.items = xcalloc(protocols->count, sizeof(struct str));
	provider->protocols.count = protocols->count;
	for (size_t i = 0; i < protocols->count; i++)
		provider->protocols.items[i] =
			(struct str){str_dup(protocols->items[i]), protocols->items[i].len};
	log_event(&EV_GROUPING,
		LOG_STR("grouping", provider_peer_is_merged(provider) ? "merged" : "per-ingress"));
	return true;
}

void provider_peer_up(struct provider_peer *provider)
{
	provider->is_up = true;
}

void provider_peer_down(struct provider_peer *provider)
{
	provider->is_up = false;
}

bool provider_peer_is_up(const struct provider_peer *provider)
{
	return provider->is_up;
}

enum grouping provider_peer_grouping(const struct provider_peer *provider)
{
	return provider->grouping;
}

bool provider_peer_is_merged(const struct provider_peer *provider)
{
	return provider->grouping == GROUPING_MERGED;
}

bool provider_peer_reports_applied(const struct provider_peer *provider)
{
	return provider->reports_applied;
}

bool provider_peer_can_serve(const struct provider_peer *provider, struct str protocol)
{
	return provider->protocols.count == 0 || has_word(&provider->protocols, protocol);
}

struct plan_limits provider_peer_limits(const struct provider_peer *provider)
{
	return (struct plan_limits){
		.policies = provider->policies_missing,
		.tcp = !provider_peer_can_serve(provider, STR("tcp")),
		.udp = provider->lacks_udp,
		.tls_passthrough = !provider_peer_can_serve(provider, STR("tls-passthrough")),
		.source_ranges = !provider->has_source_ranges,
	};
}

struct buf *provider_peer_out(const struct provider_peer *provider)
{
	return provider->ops->provider_out(provider->ctx);
}

void provider_peer_flush(const struct provider_peer *provider)
{
	provider->ops->provider_flush(provider->ctx);
}

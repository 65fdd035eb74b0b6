// SPDX-License-Identifier: Apache-2.0
#include "translator/claim_route.h"

static const struct redirect *copy_redirect(const struct redirect *redirect, struct arena *arena)
{
	if (redirect == NULL)
		return NULL;
	struct redirect *copy = arena_alloc(arena, sizeof(*copy));
	size_t count = redirect->location.count;
	*copy = *redirect;
	copy->location.items = arena_calloc(arena, count, sizeof(struct piece));
	for (size_t i = 0; i < count; i++) {
		copy->location.items[i] = redirect->location.items[i];
		copy->location.items[i].text = arena_str(arena, copy->location.items[i].text);
	}
	return copy;
}

static const struct fixed_answer *copy_answer(
	const struct fixed_answer *answer, struct arena *arena)
{
	if (answer == NULL)
		return NULL;
	struct fixed_answer *copy = arena_alloc(arena, sizeof(*copy));
	*copy = (struct fixed_answer){answer->status, arena_str(arena, answer->text)};
	return copy;
}

static const struct canary_settings *copy_canary(
	const struct canary_settings *canary, struct arena *arena)
{
	if (canary == NULL)
		return NULL;
	struct canary_settings *copy = arena_alloc(arena, sizeof(*copy));
	*copy = *canary;
	copy->header = arena_str(arena, canary->header);
	copy->header_value = arena_str(arena, canary->header_value);
	copy->header_regex = arena_str(arena, canary->header_regex);
	copy->cookie = arena_str(arena, canary->cookie);
	return copy;
}

static const struct client_wish *copy_client(const struct client_wish *client, struct arena *arena)
{
	if (client == NULL)
		return NULL;
	struct client_wish *copy = arena_alloc(arena, sizeof(*copy));
	size_t count = client->error_location.count;
	*copy = *client;
	copy->secret = arena_str(arena, client->secret);
	copy->subject = arena_str(arena, client->subject);
	copy->error_path = arena_str(arena, client->error_path);
	copy->error_location.items = arena_calloc(arena, count, sizeof(struct piece));
	for (size_t i = 0; i < count; i++) {
		copy->error_location.items[i] = client->error_location.items[i];
		copy->error_location.items[i].text =
			arena_str(arena, client->error_location.items[i].text);
	}
	return copy;
}

static const struct host_handshake *copy_handshake(
	const struct host_handshake *handshake, struct arena *arena)
{
	if (handshake == NULL)
		return NULL;
	struct host_handshake *copy = arena_alloc(arena, sizeof(*copy));
	*copy = *handshake;
	copy->ciphers.items = arena_calloc(arena, handshake->ciphers.count + 1, sizeof(struct str));
	for (size_t i = 0; i < handshake->ciphers.count; i++)
		copy->ciphers.items[i] = arena_str(arena, handshake->ciphers.items[i]);
	return copy;
}

const struct claim_route *route_copy(const struct claim_route *route, struct arena *arena)
{
	if (route == NULL)
		return NULL;
	struct claim_route *copy = arena_alloc(arena, sizeof(*copy));
	*copy = *route;
	copy->policy = arena_str(arena, route->policy);
	copy->redirect = copy_redirect(route->redirect, arena);
	copy->app_root = copy_redirect(route->app_root, arena);
	copy->answer = copy_answer(route->answer, arena);
	copy->canary = copy_canary(route->canary, arena);
	copy->client = copy_client(route->client, arena);
	copy->handshake = copy_handshake(route->handshake, arena);
	return copy;
}

/* What a map with one text needs besides it. */
enum { ROUTE_ITEM_LEN = 48 };

size_t route_cost(const struct claim_route *route)
{
	if (route == NULL)
		return 0;
	size_t cost = ROUTE_ITEM_LEN + route->policy.len;
	const struct redirect *redirect = route->redirect;
	for (size_t i = 0; redirect != NULL && i < redirect->location.count; i++)
		cost += ROUTE_ITEM_LEN + redirect->location.items[i].text.len;
	if (route->answer != NULL)
		cost += ROUTE_ITEM_LEN + route->answer->text.len;
	return cost;
}

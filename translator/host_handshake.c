// SPDX-License-Identifier: Apache-2.0
#include "translator/host_handshake.h"

#include "translator/client_tls.h"

static const struct host_handshake *wish_of(const struct path_claim *claim)
{
	return claim->route != NULL ? claim->route->handshake : NULL;
}

/* The oldest that names ciphers, or an order. */
static const struct path_claim *find_oldest(
	const struct path_claim *claims, size_t count, bool of_order)
{
	const struct path_claim *first = NULL;
	for (size_t i = 0; i < count; i++) {
		const struct host_handshake *wish = wish_of(&claims[i]);
		bool says_it = wish != NULL && (of_order ? wish->order != CIPHER_ORDER_OWN
							 : wish->ciphers.count != 0);
		if (says_it && (first == NULL || client_tls_is_older(&claims[i], first)))
			first = &claims[i];
	}
	return first;
}

static bool same_ciphers(const struct host_handshake *a, const struct host_handshake *b)
{
	bool is_same = a->ciphers.count == b->ciphers.count;
	for (size_t i = 0; is_same && i < a->ciphers.count; i++)
		is_same = str_eq(a->ciphers.items[i], b->ciphers.items[i]);
	return is_same;
}

static bool is_kept(const struct host_handshake *wish, const struct host_handshake *chosen)
{
	return (wish->ciphers.count == 0 || same_ciphers(wish, chosen)) &&
	       (wish->order == CIPHER_ORDER_OWN || wish->order == chosen->order);
}

struct host_handshake *host_handshake_choose(const struct path_claim *claims, size_t count,
	struct str host, struct arena *arena, struct diag_list *diags)
{
	const struct path_claim *ciphers = find_oldest(claims, count, false);
	const struct path_claim *order = find_oldest(claims, count, true);
	const struct object_ref *told = NULL;
	if (ciphers == NULL && order == NULL)
		return NULL;
	struct host_handshake *chosen = arena_alloc(arena, sizeof(*chosen));
	*chosen = (struct host_handshake){0};
	if (order != NULL)
		chosen->order = order->route->handshake->order;
	if (ciphers != NULL)
		chosen->ciphers = ciphers->route->handshake->ciphers;
	for (size_t i = 0; i < count; i++) {
		const struct host_handshake *wish = wish_of(&claims[i]);
		const struct object_ref *self = claims[i].ingress;
		bool is_told = told != NULL && str_eq(told->name, self->name) &&
			       str_eq(told->namespace, self->namespace);
		if (wish == NULL || is_told || is_kept(wish, chosen))
			continue;
		told = self;
		diag_add(diags, self, "HandshakeConflict", NULL,
			"ciphers of %.*s are those that an older Ingress of the host wants",
			STR_FMT(host.len != 0 ? host : STR("any host")));
	}
	return chosen;
}

// SPDX-License-Identifier: Apache-2.0
#include "translator/claim_keys.h"

#include "translator/keys.h"

struct str claim_name_key(struct arena *arena, struct str host)
{
	return key_join(arena, STR("name"), ':', host);
}

struct str claim_port_key(struct arena *arena, uint64_t port)
{
	return arena_printf(arena, CLAIM_PORT "%llu", (unsigned long long)port);
}

struct str claim_host(const struct claim_node *claim)
{
	return node_host(&claim->node);
}

uint64_t claim_port(const struct claim_node *claim)
{
	int64_t port = 0;
	struct str key = node_key(&claim->node);
	if (!str_starts_with(key, STR(CLAIM_PORT)))
		return 0;
	(void)str_to_int(str_skip(key, sizeof(CLAIM_PORT) - 1), 1, 65535, &port);
	return (uint64_t)port;
}

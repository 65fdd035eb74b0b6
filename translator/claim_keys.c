// SPDX-License-Identifier: Apache-2.0
#include "translator/claim_keys.h"

#include "translator/keys.h"

struct str claim_name_key(struct arena *arena, struct str host)
{
	return key_join(arena, STR("name"), ':', host);
}

struct str claim_port_key(struct arena *arena, uint64_t port, enum listener_protocol protocol)
{
	return arena_printf(arena, CLAIM_PORT "%llu%s", (unsigned long long)port,
		protocol == LISTENER_UDP ? CLAIM_UDP : "");
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
	key = str_skip(key, sizeof(CLAIM_PORT) - 1);
	if (str_ends_with(key, STR(CLAIM_UDP)))
		key.len -= sizeof(CLAIM_UDP) - 1;
	(void)str_to_int(key, 1, 65535, &port);
	return (uint64_t)port;
}

// SPDX-License-Identifier: Apache-2.0
#include "provider-proxy/trusted_proxies.h"

#include "common/xalloc.h"

#include <string.h>

static bool is_header(const char *name)
{
	size_t len =
		strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-");
	return len != 0 && len <= CLIENT_HEADER_LEN_MAX && name[len] == '\0';
}

char *trusted_proxies_problem(const struct option_list *proxies, const char *header)
{
	struct check_cidr network;
	if (!is_header(header))
		return xasprintf("--client-address-header \"%.100s\": the name of a header is "
				 "expected, of at most %d letters, digits and -",
			header, CLIENT_HEADER_LEN_MAX);
	if (proxies->count > TRUSTED_PROXIES_MAX)
		return xasprintf("--trusted-proxies: at most %d networks", TRUSTED_PROXIES_MAX);
	for (size_t i = 0; i < proxies->count; i++) {
		if (!check_cidr(str_from(proxies->items[i]), &network))
			return xasprintf("--trusted-proxies %.100s: an address or a network is "
					 "expected, such as 10.0.0.0/8",
				proxies->items[i]);
		if (network.bits == 0)
			return xasprintf("--trusted-proxies %.100s: whoever connects would be "
					 "believed; name the networks of the proxies in front",
				proxies->items[i]);
	}
	return NULL;
}

bool trusted_proxies_get(
	const struct option_list *proxies, size_t index, struct check_cidr *ret_network)
{
	return index < proxies->count && check_cidr(str_from(proxies->items[index]), ret_network);
}

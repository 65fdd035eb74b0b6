// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/networks.h"

#include "common/xalloc.h"

#include <arpa/inet.h>

enum { BITS_IPV4 = 32, BITS_IPV6 = 128 };

struct address {
	uint8_t bytes[16];
	bool is_ipv6;
};

struct network {
	struct address address;
	unsigned bits;
};

struct networks {
	struct network items[NETWORKS_MAX];
	size_t count;
};

static const char *const private_networks[] = {
	"10.0.0.0/8", "100.64.0.0/10", "172.16.0.0/12", "192.168.0.0/16"};

/* Loopback, link-local (with the metadata of instances), multicast and other reserved addresses. */
static const char *const special_networks[] = {"0.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16",
	"224.0.0.0/3", "::/128", "::1/128", "::ffff:0:0/96", "fe80::/10", "ff00::/8"};

static bool parse_address(struct str text, struct address *ret_address)
{
	char copy[INET6_ADDRSTRLEN];
	struct address address = {.is_ipv6 = str_find(text, ':') != NULL};
	if (text.len >= sizeof(copy) || str_find(text, '\0') != NULL)
		return false;
	str_put(copy, text);
	copy[text.len] = '\0';
	if (inet_pton(address.is_ipv6 ? AF_INET6 : AF_INET, copy, address.bytes) != 1)
		return false;
	*ret_address = address;
	return true;
}

static bool parse_network(struct str cidr, struct network *ret_network)
{
	const char *slash = str_find(cidr, '/');
	int64_t bits = 0;
	struct network network;
	if (slash == NULL)
		return false;
	size_t len = (size_t)(slash - cidr.p);
	if (!parse_address((struct str){cidr.p, len}, &network.address) ||
		!str_to_int(str_skip(cidr, len + 1), 0,
			network.address.is_ipv6 ? BITS_IPV6 : BITS_IPV4, &bits))
		return false;
	network.bits = (unsigned)bits;
	*ret_network = network;
	return true;
}

static bool is_in(const struct network *network, const struct address *address)
{
	if (network->address.is_ipv6 != address->is_ipv6)
		return false;
	size_t whole = network->bits / 8;
	unsigned rest = network->bits % 8;
	if (memcmp(network->address.bytes, address->bytes, whole) != 0)
		return false;
	return rest == 0 ||
	       (network->address.bytes[whole] ^ address->bytes[whole]) >> (8 - rest) == 0;
}

static bool is_in_any(const char *const *cidrs, size_t count, const struct address *address)
{
	for (size_t i = 0; i < count; i++) {
		struct network network;
		if (parse_network(str_from(cidrs[i]), &network) && is_in(&network, address))
			return true;
	}
	return false;
}

static bool has_address(const struct networks *networks, const struct address *address)
{
	for (size_t i = 0; i < networks->count; i++) {
		if (is_in(&networks->items[i], address))
			return true;
	}
	return false;
}

struct networks *networks_new(void)
{
	return xcalloc(1, sizeof(struct networks));
}

void networks_free(struct networks *networks)
{
	free(networks);
}

bool networks_add(struct networks *networks, struct str cidr)
{
	struct network network;
	if (networks->count == NETWORKS_MAX || !parse_network(cidr, &network))
		return false;
	networks->items[networks->count++] = network;
	return true;
}

bool networks_have(const struct networks *networks, struct str ip)
{
	struct address address;
	return parse_address(ip, &address) && has_address(networks, &address);
}

enum network_place networks_place(const struct networks *networks, struct str ip)
{
	struct address address;
	if (!parse_address(ip, &address) ||
		is_in_any(special_networks, sizeof(special_networks) / sizeof(special_networks[0]),
			&address))
		return NETWORK_REFUSED;
	if (networks == NULL || has_address(networks, &address))
		return NETWORK_INSIDE;
	return is_in_any(private_networks, sizeof(private_networks) / sizeof(private_networks[0]),
		       &address)
		       ? NETWORK_ELSEWHERE
		       : NETWORK_REFUSED;
}

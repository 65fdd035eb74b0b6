// SPDX-License-Identifier: Apache-2.0
#include "common/egress.h"

#include "common/xalloc.h"

#include <arpa/inet.h>

enum { IP_LEN = 16, IP_BITS = 128, IPV4_LEN = 4, IPV4_BITS = 32 };

/* Both families share one space: IPv4 is represented by its mapped addresses. */
struct network {
	uint8_t ip[IP_LEN]; /* bits after the prefix are zero */
	unsigned bits;
	const char *why;
};

struct network_list {
	struct network *items;
	size_t count;
};

struct egress {
	struct network_list refused;
	struct network_list allowed;
};

static const uint8_t mapped[IP_LEN - IPV4_LEN] = {[10] = 0xff, [11] = 0xff};

/* Where translators and tunnels find an IPv4 address in one of IPv6. */
static const struct form {
	uint8_t prefix[IP_LEN - IPV4_LEN];
	size_t prefix_len;
	size_t ipv4_at;
} forms[] = {
	/* RFC 6052, section 2.1. */
	{{0x00, 0x64, 0xff, 0x9b}, 12, 12},
	/* RFC 8215, as most write it: with the address at the end. */
	{{0x00, 0x64, 0xff, 0x9b, 0x00, 0x01}, 6, 12},
	/* RFC 2765, section 2.1. */
	{{[8] = 0xff, [9] = 0xff}, 12, 12},
	/* RFC 3056, section 2. */
	{{0x20, 0x02}, 2, 2},
};

#define IPV4(a, b, c, d, bits_) \
	.ip = {[10] = 0xff, [11] = 0xff, (a), (b), (c), (d)}, .bits = IP_BITS - IPV4_BITS + (bits_)

/* IANA's special-purpose address registries; the rest from the clouds' documents on instance metadata. */
static const struct network built_in[] = {
	{IPV4(0, 0, 0, 0, 8), .why = "0.0.0.0/8 is this machine"},
	{IPV4(127, 0, 0, 0, 8), .why = "127.0.0.0/8 is this machine"},
	{IPV4(169, 254, 0, 0, 16),
		.why = "169.254.0.0/16 is link-local, where clouds serve metadata"},
	{IPV4(224, 0, 0, 0, 3), .why = "224.0.0.0/3 is multicast, broadcast and reserved"},
	{IPV4(100, 100, 100, 200, 32), .why = "100.100.100.200 is Alibaba Cloud's metadata"},
	{IPV4(168, 63, 129, 16, 32), .why = "168.63.129.16 is Azure's metadata"},
	{IPV4(192, 0, 0, 192, 32), .why = "192.0.0.192 is Oracle Cloud's metadata"},
	{.ip = {0}, .bits = 96, .why = "::/96 is this machine"},
	{.ip = {0xfe, 0x80}, .bits = 10, .why = "fe80::/10 is link-local"},
	{.ip = {0xff}, .bits = 8, .why = "ff00::/8 is multicast"},
	{.ip = {0xfd, 0x00, 0x0e, 0xc2}, .bits = 32, .why = "fd00:ec2::/32 is AWS's metadata"},
	{.ip = {0xfd, 0x20, 0x00, 0xce, [14] = 0x02, [15] = 0x54},
		.bits = 128,
		.why = "fd20:ce::254 is Google Cloud's metadata"},
};

static bool read_ip(struct str text, uint8_t ret_ip[static IP_LEN])
{
	char copy[INET6_ADDRSTRLEN];
	if (text.len == 0 || text.len >= sizeof(copy) || str_find(text, '\0') != NULL)
		return false;
	str_put(copy, text);
	copy[text.len] = '\0';
	if (str_find(text, ':') != NULL)
		return inet_pton(AF_INET6, copy, ret_ip) == 1;
	memcpy(ret_ip, mapped, sizeof(mapped));
	return inet_pton(AF_INET, copy, ret_ip + sizeof(mapped)) == 1;
}

/* `ADDRESS/BITS` or an address alone. */
static bool read_network(struct str text, struct network *ret_network)
{
	struct network network = {0};
	const char *slash = str_find(text, '/');
	struct str address = {text.p, slash != NULL ? (size_t)(slash - text.p) : text.len};
	int64_t bits_max = str_find(address, ':') != NULL ? IP_BITS : IPV4_BITS;
	int64_t bits = bits_max;
	if (!read_ip(address, network.ip))
		return false;
	if (slash != NULL && !str_to_int(str_skip(text, address.len + 1), 0, bits_max, &bits))
		return false;
	network.bits = (unsigned)(IP_BITS - bits_max + bits);
	for (unsigned i = network.bits; i < IP_BITS; i++)
		network.ip[i / 8] &= (uint8_t) ~(0x80u >> i % 8);
	*ret_network = network;
	return true;
}

static bool is_within(const uint8_t ip[static IP_LEN], const struct network *network)
{
	unsigned whole = network->bits / 8;
	unsigned rest = network->bits % 8;
	if (memcmp(ip, network->ip, whole) != 0)
		return false;
	return rest == 0 || ((ip[whole] ^ network->ip[whole]) >> (8 - rest)) == 0;
}

static const struct network *find(
	const struct network *networks, size_t count, const uint8_t ip[static IP_LEN])
{
	for (size_t i = 0; i < count; i++) {
		if (is_within(ip, &networks[i]))
			return &networks[i];
	}
	return NULL;
}

static const char *refusal_of(const struct egress *egress, const uint8_t ip[static IP_LEN])
{
	const struct network *found = NULL;
	if (egress != NULL) {
		found = find(egress->refused.items, egress->refused.count, ip);
		if (found == NULL && find(egress->allowed.items, egress->allowed.count, ip) != NULL)
			return NULL;
	}
	if (found == NULL)
		found = find(built_in, sizeof(built_in) / sizeof(built_in[0]), ip);
	return found != NULL ? found->why : NULL;
}

const char *egress_refusal(const struct egress *egress, struct str ip)
{
	uint8_t bytes[IP_LEN];
	if (!read_ip(ip, bytes))
		return "it is no IP address";
	const char *why = refusal_of(egress, bytes);
	for (size_t i = 0; why == NULL && i < sizeof(forms) / sizeof(forms[0]); i++) {
		uint8_t within[IP_LEN];
		if (memcmp(bytes, forms[i].prefix, forms[i].prefix_len) != 0)
			continue;
		memcpy(within, mapped, sizeof(mapped));
		memcpy(within + sizeof(mapped), bytes + forms[i].ipv4_at, IPV4_LEN);
		why = refusal_of(egress, within);
	}
	return why;
}

/* ---- lifecycle ---- */

static char *read_list(
	const char *option, const struct option_list *texts, struct network_list *ret_list)
{
	ret_list->items = xcalloc(texts->count + 1, sizeof(*ret_list->items));
	for (size_t i = 0; i < texts->count; i++) {
		struct network *network = &ret_list->items[ret_list->count];
		if (!read_network(str_from(texts->items[i]), network))
			return xasprintf("--%s \"%s\" is no network, such as 10.0.0.0/8", option,
				texts->items[i]);
		network->why = xasprintf("it is in --%s %s", option, texts->items[i]);
		ret_list->count++;
	}
	return NULL;
}

struct egress *egress_new(const struct egress_options *options, char **ret_problem)
{
	struct egress *egress = xcalloc(1, sizeof(*egress));
	char *problem = read_list("refuse-egress", &options->refused, &egress->refused);
	if (problem == NULL)
		problem = read_list("allow-egress", &options->allowed, &egress->allowed);
	if (problem == NULL)
		return egress;
	egress_free(egress);
	*ret_problem = problem;
	return NULL;
}

static void free_list(struct network_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free((char *)(uintptr_t)list->items[i].why);
	free(list->items);
}

void egress_free(struct egress *egress)
{
	if (egress == NULL)
		return;
	free_list(&egress->refused);
	free_list(&egress->allowed);
	free(egress);
}

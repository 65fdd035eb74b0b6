// SPDX-License-Identifier: Apache-2.0
#include "translator/dialects/values.h"

#include <arpa/inet.h>

enum { VALUE_NETWORKS_MAX = 1024 /* as in PROTOCOL.md */ };

/* ---- networks ---- */

/* Of IPv4 addresses within IPv6 the last four bytes. */
static bool read_address(struct str text, uint8_t ret_ip[static 16], unsigned *ret_bits)
{
	char copy[INET6_ADDRSTRLEN];
	if (text.len >= sizeof(copy))
		return false;
	str_put(copy, text);
	copy[text.len] = '\0';
	*ret_bits = 32;
	if (inet_pton(AF_INET, copy, ret_ip) == 1)
		return true;
	*ret_bits = 128;
	return inet_pton(AF_INET6, copy, ret_ip) == 1;
}

static bool read_network(struct str item, struct arena *arena, struct str *ret_network)
{
	uint8_t ip[16];
	char text[INET6_ADDRSTRLEN];
	unsigned most = 0;
	const char *slash = str_find(item, '/');
	struct str address = {item.p, slash != NULL ? (size_t)(slash - item.p) : item.len};
	if (!read_address(address, ip, &most))
		return false;
	int64_t bits = most;
	if (slash != NULL && !str_to_int(str_skip(item, address.len + 1), 0, most, &bits))
		return false;
	for (unsigned i = (unsigned)bits; i < most; i++)
		ip[i / 8] &= (uint8_t) ~(0x80u >> i % 8);
	(void)inet_ntop(most == 32 ? AF_INET : AF_INET6, ip, text, sizeof(text));
	*ret_network = arena_printf(arena, "%s/%d", text, (int)bits);
	return true;
}

static bool is_separator(char c)
{
	return c == ',' || c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

const char *value_networks(struct str text, struct arena *arena, struct str_list *ret_networks)
{
	struct str_list list = {0};
	for (size_t at = 0, end = 0; at < text.len; at = end + 1) {
		end = at;
		while (end < text.len && !is_separator(text.p[end]))
			end++;
		if (end == at)
			continue;
		void *items = list.items;
		struct str *place = arena_push(arena, &items, &list.count, sizeof(*place));
		list.items = items;
		if (list.count > VALUE_NETWORKS_MAX)
			return "at most 1024 networks are expected";
		if (!read_network((struct str){text.p + at, end - at}, arena, place))
			return "networks such as 10.0.0.0/8 or 2001:db8::/32, or addresses, "
			       "separated by commas, are expected";
	}
	if (list.count == 0)
		return "at least one network is expected";
	*ret_networks = list;
	return NULL;
}

/* ---- numbers and words ---- */

const char *value_redirect_status(struct str text, uint64_t *ret_status)
{
	static const char *const words[] = {"301", "302", "303", "307", "308"};
	static const uint64_t statuses[] = {301, 302, 303, 307, 308};
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (str_eq_c(text, words[i])) {
			*ret_status = statuses[i];
			return NULL;
		}
	}
	return "301, 302, 303, 307 or 308 is expected";
}

const char *value_switch(struct str text, bool *ret_is_on)
{
	static const char *const words[2][6] = {{"0", "f", "F", "FALSE", "false", "False"},
		{"1", "t", "T", "TRUE", "true", "True"}};
	for (int on = 0; on < 2; on++) {
		for (int i = 0; i < 6; i++) {
			if (str_eq_c(text, words[on][i])) {
				*ret_is_on = on != 0;
				return NULL;
			}
		}
	}
	return "\"true\" or \"false\" is expected";
}

const char *value_count(
	struct str text, uint64_t min, uint64_t max, struct arena *arena, uint64_t *ret_number)
{
	int64_t number = 0;
	if (!str_to_int(text, (int64_t)min, (int64_t)max, &number))
		return arena_printf(arena, "a whole number from %llu to %llu is expected",
			(unsigned long long)min, (unsigned long long)max)
			.p;
	*ret_number = (uint64_t)number;
	return NULL;
}

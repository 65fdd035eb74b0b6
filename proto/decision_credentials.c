// SPDX-License-Identifier: Apache-2.0
#include "proto/decision_parts.h"

#include <arpa/inet.h>
#include <string.h>

/* ---- networks ---- */

struct ip_address {
	unsigned char bytes[16];
	unsigned bits; /* 32 or 128 */
};

static bool read_address(struct str text, struct ip_address *ret_address)
{
	char room[INET6_ADDRSTRLEN];
	if (text.len == 0 || text.len >= sizeof(room))
		return false;
	memcpy(room, text.p, text.len);
	room[text.len] = '\0';
	memset(ret_address, 0, sizeof(*ret_address));
	bool is_v6 = strchr(room, ':') != NULL;
	ret_address->bits = is_v6 ? 128 : 32;
	return inet_pton(is_v6 ? AF_INET6 : AF_INET, room, ret_address->bytes) == 1;
}

static bool network_has(struct str network, const struct ip_address *address)
{
	const char *slash = str_find(network, '/');
	struct ip_address base;
	int64_t prefix = 0;
	struct str ip = {network.p, slash != NULL ? (size_t)(slash - network.p) : network.len};
	if (!read_address(ip, &base) || base.bits != address->bits)
		return false;
	if (slash == NULL)
		prefix = base.bits;
	else if (!str_to_int(str_skip(network, ip.len + 1), 0, base.bits, &prefix))
		return false;
	size_t whole = (size_t)prefix / 8;
	unsigned mask = 0xff00U >> (prefix % 8) & 0xff;
	return memcmp(base.bytes, address->bytes, whole) == 0 &&
	       (mask == 0 || ((base.bytes[whole] ^ address->bytes[whole]) & mask) == 0);
}

bool is_address(struct str text)
{
	struct ip_address parsed;
	return read_address(text, &parsed);
}

bool networks_have(const struct str_list *networks, struct str address)
{
	struct ip_address parsed;
	if (!read_address(address, &parsed))
		return false;
	for (size_t i = 0; i < networks->count; i++) {
		if (network_has(networks->items[i], &parsed))
			return true;
	}
	return false;
}

/* ---- CORS ---- */

static bool is_label(struct str text)
{
	return text.len != 0 && ascii_is_made_of(text, "-_");
}

/* `*.` stands for one label. */
static bool origin_fits(struct str wanted, struct str origin)
{
	const char *star = str_find(wanted, '*');
	if (star == NULL)
		return ascii_eq_nocase(wanted, origin);
	struct str before = {wanted.p, (size_t)(star - wanted.p)};
	struct str behind = str_skip(wanted, before.len + 1); /* ".example.com:8443" */
	if (origin.len <= before.len + behind.len)
		return false;
	struct str begin = {origin.p, before.len};
	struct str end = str_skip(origin, origin.len - behind.len);
	return ascii_eq_nocase(begin, before) && ascii_eq_nocase(end, behind) &&
	       is_label((struct str){origin.p + before.len, origin.len - before.len - behind.len});
}

bool cors_allows(const struct cors *cors, bool has_origin, struct str origin)
{
	if (cors->any_origin)
		return true;
	for (size_t i = 0; has_origin && i < cors->origins.count; i++) {
		if (origin_fits(cors->origins.items[i], origin))
			return true;
	}
	return false;
}

/* ---- passwords ---- */

static int base64_digit(char c)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *at = c != '\0' ? strchr(digits, c) : NULL;
	return at != NULL ? (int)(at - digits) : -1;
}

/* False: it is no base64. */
static bool decode_base64(struct str text, struct arena *arena, struct str *ret_value)
{
	char *to = arena_alloc(arena, text.len + 1);
	size_t len = 0;
	uint32_t bits = 0;
	while (text.len != 0 && text.p[text.len - 1] == '=')
		text.len--;
	for (size_t i = 0; i < text.len; i++) {
		int digit = base64_digit(text.p[i]);
		if (digit < 0)
			return false;
		bits = bits << 6 | (uint32_t)digit;
		if (i % 4 != 0)
			to[len++] = (char)(bits >> (6 - 2 * (i % 4)) & 0xff);
	}
	*ret_value = (struct str){to, len};
	return true;
}

bool basic_credentials(
	const struct request_parts *parts, struct str *ret_name, struct str *ret_password)
{
	struct str value;
	struct str pair;
	if (!request_header(parts, STR("authorization"), &value) || value.len < 6 ||
		!ascii_eq_nocase((struct str){value.p, 6}, STR("basic ")) ||
		!decode_base64(str_trim(str_skip(value, 6)), parts->arena, &pair))
		return false;
	const char *colon = str_find(pair, ':');
	if (colon == NULL)
		return false;
	*ret_name = (struct str){pair.p, (size_t)(colon - pair.p)};
	*ret_password = str_skip(pair, ret_name->len + 1);
	return true;
}

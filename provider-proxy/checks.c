// SPDX-License-Identifier: Apache-2.0
#include "provider-proxy/checks.h"

#include "common/ascii.h"

#include <arpa/inet.h>

static bool is_label_char(char c)
{
	return ascii_is_lower(c) || ascii_is_digit(c) || c == '-';
}

static bool check_label(struct str label, bool has_underscores)
{
	if (label.len == 0 || label.len > 63 || label.p[0] == '-' || label.p[label.len - 1] == '-')
		return false;
	for (size_t i = 0; i < label.len; i++) {
		if (!is_label_char(label.p[i]) && !(has_underscores && label.p[i] == '_'))
			return false;
	}
	return true;
}

static bool check_labels(struct str host, bool has_underscores)
{
	if (host.len == 0 || host.len > CHECK_HOST_LEN_MAX)
		return false;
	for (size_t start = 0, i = 0; i <= host.len; i++) {
		if (i < host.len && host.p[i] != '.')
			continue;
		if (!check_label((struct str){host.p + start, i - start}, has_underscores))
			return false;
		start = i + 1;
	}
	return true;
}

bool check_host(struct str host)
{
	return check_labels(host, false);
}

bool check_server_name(struct str name)
{
	return check_labels(name, true);
}

bool check_wildcard(struct str host)
{
	return str_starts_with(host, STR("*.")) && check_host(str_skip(host, 2));
}

static bool check_path_bytes(struct str path, bool is_encoded)
{
	size_t slashes = 0;
	if (path.len == 0 || path.len > CHECK_PATH_LEN_MAX || path.p[0] != '/')
		return false;
	for (size_t i = 0; i < path.len; i++) {
		uint8_t c = (uint8_t)path.p[i];
		bool is_good = is_encoded ? c > 0x20 && c != 0x7f
					  : c > 0x20 && c < 0x7f && c != '#' && c != '?';
		if (!is_good)
			return false;
		slashes += c == '/';
	}
	return slashes <= CHECK_PATH_ELEMENTS_MAX;
}

bool check_path(struct str path)
{
	return check_path_bytes(path, false);
}

bool check_encoded_path(struct str path)
{
	return check_path_bytes(path, true);
}

bool check_cookie_name(struct str name)
{
	if (name.len == 0 || name.len > CHECK_COOKIE_LEN_MAX)
		return false;
	for (size_t i = 0; i < name.len; i++) {
		char c = name.p[i];
		if (!is_label_char(c) && !ascii_is_upper(c) && c != '_' && c != '.')
			return false;
	}
	return true;
}

static bool is_object_name(struct str name)
{
	for (size_t i = 0; i < name.len; i++) {
		if (!is_label_char(name.p[i]) && name.p[i] != '.')
			return false;
	}
	return name.len != 0 && name.p[0] != '-' && name.p[0] != '.';
}

bool check_owner(struct str owner)
{
	const char *slash = str_find(owner, '/');
	return slash != NULL && owner.len <= CHECK_OWNER_LEN_MAX &&
	       is_object_name((struct str){owner.p, (size_t)(slash - owner.p)}) &&
	       is_object_name(str_skip(owner, (size_t)(slash - owner.p) + 1));
}

bool check_port(uint64_t port)
{
	return port >= 1 && port <= 65535;
}

bool check_ip(struct str text, struct check_ip *ret_ip)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	char copy[CHECK_IP_LEN_MAX];
	struct check_ip ip = {0};
	if (text.len == 0 || text.len >= sizeof(copy) || str_find(text, '\0') != NULL)
		return false;
	str_put(copy, text);
	copy[text.len] = 0;
	ip.family = str_find(text, ':') != NULL ? AF_INET6 : AF_INET;
	if (inet_pton(ip.family, copy, ip.bytes) != 1)
		return false;
	if (ip.family == AF_INET6 && memcmp(ip.bytes, mapped, sizeof(mapped)) == 0) {
		ip.family = AF_INET;
		memmove(ip.bytes, ip.bytes + 12, 4);
		memset(ip.bytes + 4, 0, 12);
	}
	/* Of an IPv4 address inet_pton() takes one form only. */
	if (ip.family == AF_INET && text.len < sizeof("255.255.255.255") &&
		memchr(copy, ':', text.len) == NULL)
		memcpy(ip.text, copy, text.len + 1);
	else if (inet_ntop(ip.family, ip.bytes, ip.text, sizeof(ip.text)) == NULL)
		return false;
	*ret_ip = ip;
	return true;
}

bool check_cidr(struct str text, struct check_cidr *ret_cidr)
{
	struct check_cidr cidr;
	const char *slash = str_find(text, '/');
	size_t address_len = slash != NULL ? (size_t)(slash - text.p) : text.len;
	if (!check_ip((struct str){text.p, address_len}, &cidr.ip))
		return false;
	int64_t bits_max = cidr.ip.family == AF_INET ? 32 : 128;
	int64_t bits = bits_max;
	/* A mapped IPv4 address with an IPv6 prefix length would need another count of bits. */
	if (cidr.ip.family == AF_INET && memchr(text.p, ':', address_len) != NULL)
		return false;
	if (slash != NULL && !str_to_int(str_skip(text, address_len + 1), 0, bits_max, &bits))
		return false;
	cidr.bits = (unsigned)bits;
	for (unsigned i = cidr.bits; i < 128; i++)
		cidr.ip.bytes[i / 8] &= (uint8_t) ~(0x80u >> i % 8);
	if (inet_ntop(cidr.ip.family, cidr.ip.bytes, cidr.ip.text, sizeof(cidr.ip.text)) == NULL)
		return false;
	*ret_cidr = cidr;
	return true;
}

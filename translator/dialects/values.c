// SPDX-License-Identifier: Apache-2.0
#include "translator/dialects/values.h"

#include "common/ascii.h"
#include "common/cipher_names.h"

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

/* The digits at the beginning as a number; -1: there are none, or too many. Moves the text past them. */
static int64_t take_number(struct str *text)
{
	int64_t number = 0;
	size_t len = 0;
	while (len < text->len && text->p[len] >= '0' && text->p[len] <= '9' && len < 12)
		number = number * 10 + (text->p[len++] - '0');
	*text = str_skip(*text, len);
	return len != 0 ? number : -1;
}

const char *value_size(struct str text, uint64_t *ret_bytes)
{
	static const char *const units[] = {"", "k", "m", "g", "K", "M", "G"};
	static const unsigned shifts[] = {0, 10, 20, 30, 10, 20, 30};
	int64_t number = take_number(&text);
	for (size_t i = 0; number > 0 && i < sizeof(units) / sizeof(units[0]); i++) {
		if (str_eq_c(text, units[i])) {
			*ret_bytes = (uint64_t)number << shifts[i];
			return NULL;
		}
	}
	return "a number of bytes, at least 1, with k, m or g for units of 1024 is expected, such "
	       "as 8m";
}

enum { VALUE_MS_MAX = 24 * 60 * 60 * 1000 };

const char *value_duration(struct str text, uint64_t *ret_ms)
{
	static const char *const units[] = {"", "ms", "s", "m", "h"};
	static const int64_t factors[] = {1000, 1, 1000, 60 * 1000, 60 * 60 * 1000};
	int64_t number = take_number(&text);
	for (size_t i = 0; number > 0 && i < sizeof(units) / sizeof(units[0]); i++) {
		if (!str_eq_c(text, units[i]) || number > VALUE_MS_MAX / factors[i])
			continue;
		*ret_ms = (uint64_t)(number * factors[i]);
		return NULL;
	}
	return "a time of at most 24 hours is expected, such as 1500ms, 30s or 5m";
}

/* ---- rates ---- */

enum { VALUE_RATES_MAX = 4, VALUE_REQUESTS_MAX = 1000 * 1000 };

static bool read_rate(struct str text, struct rate_limit *ret)
{
	int64_t number = take_number(&text);
	*ret = (struct rate_limit){.requests = (uint64_t)number};
	if (str_eq_c(text, "/s"))
		ret->interval_s = 1;
	else if (str_eq_c(text, "/m"))
		ret->interval_s = 60;
	else if (str_eq_c(text, "/h"))
		ret->interval_s = 60 * 60;
	return number > 0 && number <= VALUE_REQUESTS_MAX && ret->interval_s != 0;
}

const char *value_rates(
	struct str text, struct arena *arena, struct rate_limit **ret_items, size_t *ret_count)
{
	void *items = NULL;
	size_t count = 0;
	for (size_t at = 0, end = 0; at < text.len; at = end + 1) {
		end = at;
		while (end < text.len && !is_separator(text.p[end]))
			end++;
		if (end == at)
			continue;
		if (count == VALUE_RATES_MAX)
			return "at most 4 rates are expected";
		struct rate_limit *place = arena_push(arena, &items, &count, sizeof(*place));
		if (!read_rate((struct str){text.p + at, end - at}, place))
			return "rates such as 10/s, 600/m or 1000/h, separated by commas, are "
			       "expected";
	}
	if (count == 0)
		return "at least one rate is expected, such as 10/s";
	*ret_items = items;
	*ret_count = count;
	return NULL;
}

const char *value_secret_name(struct str name)
{
	enum { NAME_LEN_MAX = 253 };
	bool good = name.len != 0 && name.len <= NAME_LEN_MAX;
	for (size_t i = 0; i < name.len && good; i++) {
		char c = name.p[i];
		bool is_edge = i == 0 || i == name.len - 1;
		good = ascii_is_lower(c) || ascii_is_digit(c) ||
		       (!is_edge && (c == '-' || c == '.'));
	}
	return good ? NULL : "the name of a Secret in the same namespace is expected";
}

/* ---- ciphers ---- */

const char *value_ciphers(struct str text, struct arena *arena, struct str_list *ret_names)
{
	struct cipher_names names;
	if (text.len != 0 && memmem(text.p, text.len, "@SECLEVEL", strlen("@SECLEVEL")) != NULL)
		return "ciphers without @SECLEVEL are expected: levels of security are for all "
		       "hosts";
	const char *problem = cipher_names_of(text, arena, &names);
	if (problem == NULL)
		*ret_names = (struct str_list){names.items, names.count};
	return problem;
}

// SPDX-License-Identifier: Apache-2.0
#include "proto/decision_parts.h"

#include <string.h>

enum { NAME_LEN_MAX = 253, PORT_DIGITS_MAX = 5, PROXIES_MAX = 256 };

/* Another way than by HTTP says who the client is. */
static bool reads_proxy(const struct load_balancer *balancer, uint64_t port)
{
	for (size_t i = 0; i < balancer->listeners.count; i++) {
		const struct listener *listener = &balancer->listeners.items[i];
		if (listener->port == port)
			return listener->reads_proxy;
	}
	return false;
}

/* The last value of a list, which is taken off it. */
static struct str take_last(struct str *list)
{
	size_t at = list->len;
	while (at > 0 && list->p[at - 1] != ',')
		at--;
	struct str last = str_trim(str_skip(*list, at));
	list->len = at > 0 ? at - 1 : 0;
	return last;
}

/* The first address from the right that is none of theirs. Where one of them has said something else, nobody behind it is believed. */
static struct str find_client(const struct request_parts *parts, const struct forwarding *f)
{
	struct str client = parts->request->client;
	struct str list;
	struct str name = f->client_header.len != 0 ? f->client_header : STR("x-forwarded-for");
	if (!request_header(parts, name, &list))
		return client;
	for (size_t i = 0; i < PROXIES_MAX && list.len != 0; i++) {
		struct str before = take_last(&list);
		if (!networks_have(&f->trusted, client) || !is_address(before))
			break;
		client = before;
	}
	return client;
}

static size_t span(struct str text, const char *others)
{
	size_t len = 0;
	while (len < text.len) {
		char c = text.p[len];
		bool is_taken = ascii_is_alnum(c) || (c != '\0' && strchr(others, c) != NULL);
		if (!is_taken)
			break;
		len++;
	}
	return len;
}

/* How long a host's name is that the text begins with; 0: it does not. */
static size_t name_len(struct str text)
{
	if (str_starts_with(text, STR("["))) {
		const char *end = str_find(text, ']');
		struct str inner = str_skip(text, 1);
		inner.len = end != NULL ? (size_t)(end - inner.p) : 0;
		bool is_v6 = inner.len >= 2 && inner.len <= 45;
		for (size_t i = 0; i < inner.len; i++)
			is_v6 &= strchr("0123456789abcdefABCDEF:.", inner.p[i]) != NULL &&
				 inner.p[i] != '\0';
		return is_v6 ? inner.len + 2 : 0;
	}
	size_t len = span(text, "-_.");
	struct str name = {text.p, len};
	bool is_name = len != 0 && len <= NAME_LEN_MAX && text.p[0] != '.';
	for (size_t i = 1; i < len; i++)
		is_name &= name.p[i] != '.' || name.p[i - 1] != '.';
	return is_name ? len : 0;
}

/* The first host of a list, with a port or without. Empty: that is none. */
static struct str first_host(struct str list)
{
	struct str first = str_trim(str_before(list, ','));
	struct str rest = str_skip(first, name_len(first));
	if (rest.len == first.len)
		return STR_NONE;
	if (rest.len == 0)
		return first;
	bool is_port = rest.p[0] == ':' && rest.len >= 2 && rest.len <= PORT_DIGITS_MAX + 1 &&
		       rest.p[1] != '0';
	for (size_t i = 1; i < rest.len; i++)
		is_port &= rest.p[i] >= '0' && rest.p[i] <= '9';
	return is_port ? first : STR_NONE;
}

static void believe_scheme(struct request_parts *parts)
{
	struct str value;
	int64_t port;
	if (request_header(parts, STR("x-forwarded-proto"), &value)) {
		bool is_http = ascii_eq_nocase(value, STR("http"));
		bool is_https = ascii_eq_nocase(value, STR("https"));
		parts->is_https = is_https || (parts->is_https && !is_http);
	}
	if (request_header(parts, STR("x-forwarded-port"), &value) &&
		value.len <= PORT_DIGITS_MAX && value.p[0] != '0' &&
		str_to_int(value, 1, 99999, &port))
		parts->port = (uint64_t)port;
}

bool front_refuses(const struct request_parts *parts, const struct load_balancer *balancer)
{
	const struct forwarding *f = balancer->forwarding;
	const struct http_headers *headers = &parts->request->headers;
	size_t count = 0;
	if (f == NULL || f->client_header.len == 0 ||
		ascii_eq_nocase(f->client_header, STR("x-forwarded-for")) ||
		!networks_have(&f->trusted, parts->request->client) ||
		reads_proxy(balancer, parts->request->port))
		return false;
	for (size_t i = 0; i < headers->count; i++)
		count += ascii_eq_nocase(headers->items[i].name, f->client_header);
	return count > 1;
}

bool front_believe(struct request_parts *parts, const struct load_balancer *balancer)
{
	const struct forwarding *f = balancer->forwarding;
	struct str list;
	if (f == NULL || !networks_have(&f->trusted, parts->request->client))
		return false;
	if (f->believes_scheme)
		believe_scheme(parts);
	if (f->believes_host && request_header(parts, STR("x-forwarded-host"), &list)) {
		struct str told = first_host(list);
		if (told.len != 0) {
			parts->told_host = told;
			parts->told_name = request_host_name(told, parts->arena);
		}
	}
	if (!reads_proxy(balancer, parts->request->port))
		parts->client = find_client(parts, f);
	return true;
}

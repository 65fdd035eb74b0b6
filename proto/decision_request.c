// SPDX-License-Identifier: Apache-2.0
#include "proto/decision_parts.h"

#include <string.h>

static struct str without_port(struct str host)
{
	const char *bracket = str_find(host, ']');
	struct str behind = bracket != NULL ? str_skip(host, (size_t)(bracket - host.p)) : host;
	const char *colon = str_find(behind, ':');
	if (colon != NULL)
		host.len = (size_t)(colon - host.p);
	if (str_ends_with(host, STR(".")))
		host.len--;
	return host;
}

struct str request_host_name(struct str host, struct arena *arena)
{
	return ascii_lower(arena, without_port(host));
}

/* `http://HOST/PATH`, as requests to proxies have it. */
static bool take_authority(struct str *target, struct str *ret_authority)
{
	const struct str schemes[] = {STR("http://"), STR("https://")};
	for (size_t i = 0; i < 2; i++) {
		struct str begin = {
			target->p, target->len < schemes[i].len ? target->len : schemes[i].len};
		if (!ascii_eq_nocase(begin, schemes[i]))
			continue;
		struct str rest = str_skip(*target, schemes[i].len);
		size_t len = 0;
		while (len < rest.len && strchr("/?#", rest.p[len]) == NULL)
			len++;
		*ret_authority = (struct str){rest.p, len};
		*target = str_skip(rest, len);
		return true;
	}
	return false;
}

void request_take_apart(const struct decision_request *request, struct arena *arena,
	struct request_parts *ret_parts)
{
	struct request_parts parts = {.request = request,
		.arena = arena,
		.host_header = request->host,
		.path = request->target,
		.client = request->client,
		.is_https = request->is_tls,
		.port = request->port};
	bool is_absolute = take_authority(&parts.path, &parts.host_header);
	parts.host = request_host_name(parts.host_header, arena);
	parts.told_host = parts.host_header;
	parts.told_name = parts.host;
	parts.has_query = str_find(parts.path, '?') != NULL;
	struct str rest = parts.path;
	parts.path = str_cut(&rest, '?');
	parts.query = parts.has_query ? rest : STR_NONE;
	if (is_absolute && parts.path.len == 0)
		parts.path = STR("/");
	parts.matched = parts.path;
	*ret_parts = parts;
}

/* ---- decoding ---- */

static int hex_digit(char c)
{
	if (ascii_is_digit(c))
		return c - '0';
	c = (char)(c | 0x20);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The byte that an escape at the beginning of the text stands for; -1: there is none. */
static int escaped_byte(struct str text)
{
	if (text.len < 3 || text.p[0] != '%')
		return -1;
	int high = hex_digit(text.p[1]);
	int low = hex_digit(text.p[2]);
	return high < 0 || low < 0 ? -1 : high * 16 + low;
}

struct str request_decode_argument(struct str text, struct arena *arena)
{
	char *to = arena_alloc(arena, text.len + 1);
	size_t len = 0;
	while (text.len != 0) {
		int byte = escaped_byte(text);
		if (byte < 0)
			to[len++] = (char)(text.p[0] == '+' ? ' ' : text.p[0]);
		else
			to[len++] = (char)byte;
		text = str_skip(text, byte < 0 ? 1 : 3);
	}
	return (struct str){to, len};
}

/* False: a NUL, or an escape that is none. */
static bool decode_bytes(struct str path, char *to, size_t *ret_len)
{
	size_t len = 0;
	while (path.len != 0) {
		int byte = escaped_byte(path);
		if (path.p[0] == '%' && byte <= 0)
			return false;
		to[len++] = byte < 0 ? path.p[0] : (char)byte;
		path = str_skip(path, byte < 0 ? 1 : 3);
	}
	*ret_len = len;
	return true;
}

/* Where the element before the one that ends in a slash at to[len - 1] begins; 0: there is none. */
static size_t parent_len(const char *to, size_t len)
{
	if (len <= 1)
		return 0;
	len--;
	while (to[len - 1] != '/')
		len--;
	return len;
}

/* Repeated slashes, `.` and `..` go; in place, for it only becomes shorter. False: above the root. */
static bool resolve(char *to, size_t *len)
{
	size_t end = *len;
	size_t kept = 1;
	size_t at = 1;
	while (at < end) {
		size_t begin = at;
		while (at < end && to[at] != '/')
			at++;
		size_t element = at - begin;
		bool has_slash = at < end;
		at += has_slash;
		if (element == 0 || (element == 1 && to[begin] == '.'))
			continue;
		if (element == 2 && to[begin] == '.' && to[begin + 1] == '.') {
			kept = parent_len(to, kept);
			if (kept == 0)
				return false;
			continue;
		}
		memmove(to + kept, to + begin, element);
		kept += element;
		if (has_slash)
			to[kept++] = '/';
	}
	*len = kept;
	return true;
}

bool request_decode_path(struct str path, struct arena *arena, struct str *ret_path)
{
	char *to = arena_alloc(arena, path.len + 1);
	size_t len = 0;
	if (!decode_bytes(path, to, &len))
		return false;
	if (len != 0 && to[0] == '/' && !resolve(to, &len))
		return false;
	*ret_path = (struct str){to, len};
	return true;
}

/* ---- what it has ---- */

bool request_header(const struct request_parts *parts, struct str name, struct str *ret_value)
{
	const struct http_headers *headers = &parts->request->headers;
	bool is_found = false;
	if (ascii_eq_nocase(name, STR("host"))) {
		*ret_value = parts->host_header;
		return parts->host_header.len != 0;
	}
	for (size_t i = 0; i < headers->count; i++) {
		if (!ascii_eq_nocase(headers->items[i].name, name))
			continue;
		*ret_value = is_found
				     ? arena_printf(parts->arena, "%.*s, %.*s", STR_FMT(*ret_value),
					       STR_FMT(headers->items[i].value))
				     : headers->items[i].value;
		is_found = true;
	}
	return is_found;
}

bool request_cookie(const struct request_parts *parts, struct str name, struct str *ret_value)
{
	const struct http_headers *headers = &parts->request->headers;
	for (size_t i = 0; i < headers->count; i++) {
		struct str rest = headers->items[i].value;
		if (!ascii_eq_nocase(headers->items[i].name, STR("cookie")))
			continue;
		while (rest.len != 0) {
			struct str pair = str_trim(str_cut(&rest, ';'));
			bool has_value = str_find(pair, '=') != NULL;
			if (!has_value || !str_eq(str_cut(&pair, '='), name))
				continue;
			*ret_value = pair;
			return true;
		}
	}
	return false;
}

bool request_argument(const struct request_parts *parts, struct str name, struct str *ret_value)
{
	struct str rest = parts->query;
	while (rest.len != 0) {
		struct str pair = str_cut(&rest, '&');
		if (pair.len == 0 ||
			!str_eq(request_decode_argument(str_cut(&pair, '='), parts->arena), name))
			continue;
		*ret_value = pair;
		return true;
	}
	return false;
}

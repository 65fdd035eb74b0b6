// SPDX-License-Identifier: Apache-2.0
#include "translator/dialects/service_url.h"

#include "common/ascii.h"

enum { HTTP_PORT = 80, HTTPS_PORT = 443, PORT_MOST = 65535 };

/* A variable may be the host, or begin what follows it. */
static size_t host_len(struct str text)
{
	size_t len = 0;
	while (len < text.len && text.p[len] != '/' && text.p[len] != '?' &&
		(text.p[len] != '$' || len == 0))
		len++;
	return len;
}

static bool read_port(struct str authority, struct service_url *url)
{
	int64_t port = 0;
	const char *colon = str_find(authority, ':');
	url->host = authority;
	if (colon == NULL)
		return true;
	url->host.len = (size_t)(colon - authority.p);
	if (!str_to_int(str_skip(authority, url->host.len + 1), 1, PORT_MOST, &port))
		return false;
	url->port = (uint64_t)port;
	return true;
}

bool service_url_parse(struct str text, struct service_url *ret)
{
	static const struct str http = {"http://", 7};
	static const struct str https = {"https://", 8};
	*ret = (struct service_url){.is_https = str_starts_with(text, https)};
	if (!ret->is_https && !str_starts_with(text, http))
		return false;
	text = str_skip(text, ret->is_https ? https.len : http.len);
	struct str authority = {text.p, host_len(text)};
	ret->port = ret->is_https ? HTTPS_PORT : HTTP_PORT;
	ret->rest = str_skip(text, authority.len);
	return read_port(authority, ret) && ret->host.len != 0;
}

static bool is_label(struct str label)
{
	for (size_t i = 0; i < label.len; i++) {
		char c = label.p[i];
		if (!(ascii_is_lower(c) || ascii_is_digit(c) || c == '-'))
			return false;
	}
	return label.len != 0 && label.len <= 63;
}

bool service_url_name(struct str host, struct str *ret_namespace, struct str *ret_name)
{
	static const struct str ends[] = {STR(".svc"), STR(".svc.cluster.local")};
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		if (!str_ends_with(host, ends[i]))
			continue;
		struct str both = {host.p, host.len - ends[i].len};
		const char *dot = str_find(both, '.');
		if (dot == NULL)
			return false;
		*ret_name = (struct str){both.p, (size_t)(dot - both.p)};
		*ret_namespace = str_skip(both, ret_name->len + 1);
		return is_label(*ret_name) && is_label(*ret_namespace);
	}
	return false;
}

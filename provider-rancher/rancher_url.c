// SPDX-License-Identifier: Apache-2.0
#include "provider-rancher/rancher_url.h"

#include "common/xalloc.h"

#include <strings.h>

static const char VERSION[] = "/v2-beta";

static struct str cut_at(struct str s, const char *any_of)
{
	for (size_t i = 0; i < s.len; i++) {
		if (strchr(any_of, s.p[i]) != NULL)
			return (struct str){s.p, i};
	}
	return s;
}

static bool is_printable(struct str s)
{
	for (size_t i = 0; i < s.len; i++) {
		if ((unsigned char)s.p[i] <= ' ' || (unsigned char)s.p[i] >= 0x7f)
			return false;
	}
	return true;
}

static bool cut_scheme(struct str *url, const char **ret_scheme)
{
	static const char *const schemes[] = {"http://", "https://"};
	for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++) {
		size_t len = strlen(schemes[i]);
		if (url->len > len && strncasecmp(url->p, schemes[i], len) == 0) {
			*url = str_skip(*url, len);
			*ret_scheme = schemes[i];
			return true;
		}
	}
	return false;
}

static struct str cut_slashes(struct str path)
{
	while (path.len != 0 && path.p[path.len - 1] == '/')
		path.len--;
	return path;
}

static bool is_version_1(struct str path)
{
	return str_eq_c(path, "/v1") || str_starts_with(path, STR("/v1/"));
}

char *rancher_url_base(struct str url, const char **ret_problem)
{
	const char *scheme = NULL;
	*ret_problem = "it must begin with http:// or https://";
	if (!cut_scheme(&url, &scheme))
		return NULL;
	*ret_problem = "it holds white space or characters that are not ASCII";
	if (!is_printable(url))
		return NULL;
	url = cut_at(url, "?#");
	struct str host = cut_at(url, "/");
	*ret_problem = "it names no host";
	if (host.len == 0)
		return NULL;
	*ret_problem = "it holds credentials; give them as access key and secret key";
	if (str_find(host, '@') != NULL)
		return NULL;
	struct str path = cut_slashes(str_skip(url, host.len));
	if (str_ends_with(path, STR("/schemas")))
		path = cut_slashes((struct str){path.p, path.len - strlen("/schemas")});
	const char *version = "";
	if (path.len == 0 || is_version_1(path)) {
		version = VERSION;
		path = str_skip(path, strlen("/v1"));
	}
	*ret_problem = NULL;
	return xasprintf("%s%.*s%s%.*s", scheme, STR_FMT(host), version, STR_FMT(path));
}

char *rancher_url_subscribe(const char *base)
{
	/* "http" to "ws", "https" to "wss". */
	return xasprintf("ws%s/subscribe?eventNames=resource.change", base + strlen("http"));
}

char *rancher_url_next(const char *page, struct str next)
{
	const char *query = str_find(next, '?');
	if (query == NULL)
		return NULL;
	struct str wanted = cut_at(str_skip(next, (size_t)(query - next.p) + 1), "#");
	if (wanted.len == 0 || !is_printable(wanted))
		return NULL;
	struct str path = cut_at(str_from(page), "?");
	return xasprintf("%.*s?%.*s", STR_FMT(path), STR_FMT(wanted));
}

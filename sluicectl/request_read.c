// SPDX-License-Identifier: Apache-2.0
#include "sluicectl/request_read.h"

#include "common/ascii.h"
#include "common/ip.h"
#include "common/xalloc.h"

#include <string.h>

#define NOBODY "192.0.2.1" /* RFC 5737 */

/* RFC 9110, 5.6.2. */
static bool is_token(struct str text)
{
	return text.len != 0 && ascii_is_made_of(text, "!#$%&'*+-.^_`|~");
}

static bool has_control(struct str text)
{
	for (size_t i = 0; i < text.len; i++) {
		unsigned char c = (unsigned char)text.p[i];
		if ((c < 0x20 && c != '\t') || c == 0x7f)
			return true;
	}
	return false;
}

/* Method and URL, in one word or two. */
static bool take_words(const struct args *args, struct str *ret_method, struct str *ret_url)
{
	struct str first = str_trim(str_from(args->rest.count != 0 ? args->rest.items[0] : ""));
	const char *blank = str_find(first, ' ');
	*ret_method = STR("GET");
	if (args->rest.count == 2 && blank == NULL) {
		*ret_method = first;
		*ret_url = str_trim(str_from(args->rest.items[1]));
		return true;
	}
	*ret_url = first;
	if (blank != NULL) {
		*ret_method = (struct str){first.p, (size_t)(blank - first.p)};
		*ret_url = str_trim(str_skip(first, ret_method->len));
	}
	return args->rest.count == 1;
}

static size_t until(struct str text, const char *ends)
{
	size_t len = 0;
	while (len < text.len && strchr(ends, text.p[len]) == NULL)
		len++;
	return len;
}

static char *take_url(struct str url, struct decision_request *request)
{
	bool has_scheme =
		memmem(url.p, url.len, "://", 3) != NULL && !str_starts_with(url, STR("/"));
	request->is_tls = str_starts_with(url, STR("https://"));
	if (has_scheme && !request->is_tls && !str_starts_with(url, STR("http://")))
		return xstrdup("the URL must begin with http:// or https://");
	struct str rest = has_scheme ? str_skip(url, request->is_tls ? 8 : 7) : url;
	request->host = (struct str){rest.p, until(rest, "/?#")};
	rest = str_skip(rest, request->host.len);
	const char *bracket = str_find(request->host, ']');
	struct str behind = bracket != NULL
				    ? str_skip(request->host, (size_t)(bracket - request->host.p))
				    : request->host;
	const char *colon = str_find(behind, ':');
	int64_t port = 0;
	if (colon != NULL &&
		!str_to_int(str_skip(request->host, (size_t)(colon - request->host.p) + 1), 1,
			UINT16_MAX, &port))
		return xstrdup("the URL's port is not a number from 1 to 65535");
	request->port = (uint64_t)port;
	request->target = (struct str){rest.p, until(rest, "#")};
	if (request->host.len == 0)
		return xstrdup("the URL names no host");
	return NULL;
}

static char *take_header(
	const char *given, struct http_headers *headers, struct decision_request *request)
{
	const char *colon = strchr(given, ':');
	struct str name = {given, colon != NULL ? (size_t)(colon - given) : 0};
	struct str value = colon != NULL ? str_trim(str_from(colon + 1)) : STR_NONE;
	int64_t length = 0;
	if (!is_token(name) || has_control(value))
		return xasprintf("--header \"%s\" is not NAME: VALUE", given);
	if (ascii_eq_nocase(name, STR("host"))) {
		request->host = value;
		return NULL;
	}
	if (ascii_eq_nocase(name, STR("content-length")) &&
		str_to_int(value, 0, INT64_MAX, &length))
		request->content_length = (uint64_t)length;
	headers->items[headers->count++] = (struct http_header){name, value};
	return NULL;
}

static char *take_options(
	const struct args *args, struct arena *arena, struct decision_request *request)
{
	char address[INET6_ADDRSTRLEN];
	int64_t bytes = 0;
	if (!ip_canonical(str_from(args->from != NULL ? args->from : NOBODY), address))
		return xstrdup("--from must be an IP address");
	request->client = arena_str(arena, str_from(address));
	request->has_certificate = args->has_certificate;
	if (args->body_bytes == NULL)
		return NULL;
	if (!str_to_int(str_from(args->body_bytes), 0, INT64_MAX, &bytes))
		return xstrdup("--body-bytes must be a number");
	request->content_length = (uint64_t)bytes;
	return NULL;
}

char *request_read(
	const struct args *args, struct arena *arena, struct decision_request *ret_request)
{
	struct decision_request request = {.method = STR_NONE};
	struct str url;
	char *problem = NULL;
	if (!take_words(args, &request.method, &url) || !is_token(request.method) ||
		has_control(url))
		return xstrdup(
			"request needs a method and a URL, as in 'GET https://shop.example/cart'");
	if (args->headers.count > DECISION_HEADERS_MAX)
		return xasprintf("more than %d headers", DECISION_HEADERS_MAX);
	problem = take_url(url, &request);
	/* What a client asks for when the URL has no path. */
	if (problem == NULL && !str_starts_with(request.target, STR("/")))
		request.target = arena_printf(arena, "/%.*s", STR_FMT(request.target));
	request.headers.items =
		arena_calloc(arena, args->headers.count + 1, sizeof(struct http_header));
	for (size_t i = 0; i < args->headers.count && problem == NULL; i++)
		problem = take_header(args->headers.items[i], &request.headers, &request);
	if (problem == NULL)
		problem = take_options(args, arena, &request);
	*ret_request = request;
	return problem;
}

// SPDX-License-Identifier: Apache-2.0
#include "sluicectl/web_guard.h"

#include "common/ascii.h"
#include "common/ip.h"

#include <arpa/inet.h>
#include <bsd/stdlib.h>
#include <stdio.h>

/* ---- the address ---- */

static bool is_loopback(struct str ip)
{
	char text[INET6_ADDRSTRLEN];
	struct in_addr v4;
	if (!ip_canonical(ip, text))
		return false;
	if (inet_pton(AF_INET, text, &v4) == 1)
		return ntohl(v4.s_addr) >> 24 == IN_LOOPBACKNET;
	return strcmp(text, "::1") == 0;
}

static void draw_key(char key[WEB_KEY_LEN + 1])
{
	unsigned char bytes[WEB_KEY_LEN / 2];
	arc4random_buf(bytes, sizeof(bytes));
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(key + 2 * i, 3, "%02x", bytes[i]);
}

bool web_guard_init(struct web_guard *guard, const char *address)
{
	const char *colon = strrchr(address, ':');
	size_t len = colon != NULL ? (size_t)(colon - address) : 0;
	*guard = (struct web_guard){.port = 0};
	if (len == 0 || len > WEB_ADDRESS_LEN)
		return false;
	bool has_brackets = len > 2 && address[0] == '[' && address[len - 1] == ']';
	struct str ip = {address + (has_brackets ? 1 : 0), len - (has_brackets ? 2 : 0)};
	bool is_v6 = str_find(ip, ':') != NULL;
	if (is_v6 != has_brackets || !is_loopback(ip))
		return false;
	memcpy(guard->host, address, len);
	draw_key(guard->key);
	return true;
}

/* ---- requests ---- */

/* A browser leaves out the port of its scheme. */
static bool is_place(const struct web_guard *guard, struct str host, const char *name)
{
	char want[WEB_ADDRESS_LEN + sizeof(":65535")];
	if (guard->port == 80 && ascii_eq_nocase(host, str_from(name)))
		return true;
	snprintf(want, sizeof(want), "%s:%d", name, guard->port);
	return ascii_eq_nocase(host, str_from(want));
}

/* Without the header it is no browser that says who asks. */
static bool is_own_site(struct str site)
{
	return site.len == 0 || str_eq(site, STR("same-origin")) || str_eq(site, STR("none"));
}

/* Takes as long for a wrong key that begins well as for any other. */
static bool is_key(const struct web_guard *guard, const char *given)
{
	unsigned difference = 0;
	for (size_t i = 0; i < WEB_KEY_LEN; i++)
		difference |= (unsigned char)(given[i] ^ guard->key[i]);
	return difference == 0;
}

enum web_verdict web_guard_check(
	const struct web_guard *guard, const struct admin_request *request, struct str *ret_path)
{
	if (!is_place(guard, request->host, guard->host) &&
		!is_place(guard, request->host, "localhost"))
		return WEB_E_HOST;
	if (!is_own_site(request->site))
		return WEB_E_SITE;
	struct str path = request->path;
	if (path.len < WEB_KEY_LEN + 2 || path.p[0] != '/' || path.p[WEB_KEY_LEN + 1] != '/' ||
		!is_key(guard, path.p + 1))
		return WEB_E_KEY;
	*ret_path = str_skip(path, WEB_KEY_LEN + 2);
	return WEB_WELCOME;
}

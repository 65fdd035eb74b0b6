// SPDX-License-Identifier: Apache-2.0
#include "provider-rancher/addresses.h"

#include "common/ascii.h"
#include "common/shared_text.h"

#include <arpa/inet.h>
#include <stdlib.h>

enum { HOSTNAME_LEN_MAX = 253, LABEL_LEN_MAX = 63 };

/* ---- sets ---- */

bool endpoint_parse(struct str ip, uint64_t port, struct endpoint *ret_endpoint)
{
	char text[INET6_ADDRSTRLEN];
	struct endpoint endpoint = {.port = (uint16_t)port};
	if (port == 0 || port > UINT16_MAX || ip.len == 0 || ip.len >= sizeof(text))
		return false;
	str_put(text, ip);
	text[ip.len] = '\0';
	if (inet_pton(AF_INET, text, endpoint.bytes) == 1)
		endpoint.family = 4;
	else if (inet_pton(AF_INET6, text, endpoint.bytes) == 1)
		endpoint.family = 6;
	else
		return false;
	*ret_endpoint = endpoint;
	return true;
}

static int compare_endpoints(const void *left, const void *right)
{
	const struct endpoint *a = left;
	const struct endpoint *b = right;
	if (a->family != b->family)
		return (int)a->family - (int)b->family;
	int order = memcmp(a->bytes, b->bytes, sizeof(a->bytes));
	return order != 0 ? order : (int)a->port - (int)b->port;
}

const struct endpoint_set *endpoint_set_get(struct endpoint *items, size_t count)
{
	size_t kept = 0;
	if (count == 0)
		return NULL;
	qsort(items, count, sizeof(*items), compare_endpoints);
	for (size_t i = 0; i < count; i++) {
		if (i == 0 || compare_endpoints(&items[i], &items[kept - 1]) != 0)
			items[kept++] = items[i];
	}
	struct str bytes = {(const char *)items, kept * sizeof(*items)};
	return (const struct endpoint_set *)(const void *)shared_text_get(bytes);
}

static const char *text_of(const struct endpoint_set *set)
{
	return (const char *)(const void *)set;
}

static const struct endpoint_set *hold(const struct endpoint_set *set)
{
	(void)shared_text_hold(text_of(set));
	return set;
}

void endpoint_set_drop(const struct endpoint_set *set)
{
	shared_text_drop(text_of(set));
}

size_t endpoint_set_count(const struct endpoint_set *set)
{
	return set != NULL ? shared_text_view(text_of(set)).len / sizeof(struct endpoint) : 0;
}

static const struct endpoint *items_of(const struct endpoint_set *set)
{
	return (const struct endpoint *)(const void *)set;
}

/* ---- Ingress addresses ---- */

static bool is_label_char(char c)
{
	return ascii_is_lower(c) || ascii_is_digit(c) || c == '-';
}

struct str address_hostname(struct str fqdn, struct arena *arena)
{
	if (fqdn.len != 0 && fqdn.p[fqdn.len - 1] == '.')
		fqdn.len--;
	if (fqdn.len == 0 || fqdn.len > HOSTNAME_LEN_MAX)
		return STR_NONE;
	char *text = arena_alloc(arena, fqdn.len + 1);
	size_t label_len = 0;
	for (size_t i = 0; i < fqdn.len; i++) {
		char c = fqdn.p[i];
		text[i] = ascii_to_lower(c);
		bool ends = c == '.' || i + 1 == fqdn.len;
		label_len += c != '.';
		bool is_edge = label_len == 1 || i + 1 == fqdn.len || fqdn.p[i + 1] == '.';
		if ((c != '.' && !is_label_char(text[i])) || (text[i] == '-' && is_edge) ||
			label_len > LABEL_LEN_MAX || (ends && label_len == 0))
			return STR_NONE;
		if (c == '.')
			label_len = 0;
	}
	return (struct str){text, fqdn.len};
}

static struct str ip_text(const struct endpoint *endpoint, struct arena *arena)
{
	char text[INET6_ADDRSTRLEN];
	if (inet_ntop(endpoint->family == 4 ? AF_INET : AF_INET6, endpoint->bytes, text,
		    sizeof(text)) == NULL)
		return STR_NONE;
	return arena_str(arena, str_from(text));
}

static int compare_ips(const void *left, const void *right)
{
	return str_cmp(((const struct address *)left)->ip, ((const struct address *)right)->ip);
}

static int compare_address_ports(const void *left, const void *right)
{
	const struct address_port *a = left;
	const struct address_port *b = right;
	return (a->port > b->port) - (a->port < b->port);
}

static void add_port(struct address *address, uint64_t port, struct arena *arena)
{
	struct address_port *place = arena_push(
		arena, (void **)&address->ports.items, &address->ports.count, sizeof(*place));
	*place = (struct address_port){.port = port, .protocol = PROTOCOL_TCP};
}

/* All open ports: the name resolves to every endpoint. */
static void add_all_ports(
	struct address *address, const struct endpoint_set *set, struct arena *arena)
{
	for (size_t i = 0; i < endpoint_set_count(set); i++)
		add_port(address, items_of(set)[i].port, arena);
	qsort(address->ports.items, address->ports.count, sizeof(struct address_port),
		compare_address_ports);
	size_t count = 0;
	for (size_t i = 0; i < address->ports.count; i++) {
		struct address_port *ports = address->ports.items;
		if (count == 0 || ports[count - 1].port != ports[i].port)
			ports[count++] = ports[i];
	}
	address->ports.count = count;
}

size_t addresses_list(const struct endpoint_set *set, struct str fqdn, struct arena *arena,
	struct address **ret_addresses)
{
	size_t endpoint_count = endpoint_set_count(set);
	size_t count = 0;
	if (endpoint_count == 0)
		return 0;
	struct address *list = arena_calloc(arena, endpoint_count + 1, sizeof(*list));
	for (size_t i = 0; i < endpoint_count; i++) {
		const struct endpoint *at = &items_of(set)[i];
		if (i == 0 || memcmp(at->bytes, at[-1].bytes, sizeof(at->bytes)) != 0 ||
			at->family != at[-1].family)
			list[count++].ip = ip_text(at, arena);
		add_port(&list[count - 1], at->port, arena);
	}
	qsort(list, count, sizeof(*list), compare_ips);
	struct str hostname = address_hostname(fqdn, arena);
	if (hostname.len != 0) {
		list[count].hostname = hostname;
		add_all_ports(&list[count], set, arena);
		count++;
	}
	*ret_addresses = list;
	return count;
}

/* ---- holding addresses ---- */

enum shown_change shown_update(struct shown *shown, const struct endpoint_set *set, double now)
{
	if (set == NULL) {
		if (shown->none_since > 0)
			return SHOWN_SAME;
		shown->none_since = now;
		return SHOWN_HOLD;
	}
	bool was_told = shown->is_known && shown->none_since <= 0 && shown->last == set;
	shown->none_since = 0;
	shown->is_known = true;
	shown->had_any = true;
	if (was_told)
		return SHOWN_SAME;
	const struct endpoint_set *before = shown->last;
	shown->last = hold(set);
	endpoint_set_drop(before);
	return SHOWN_CHANGED;
}

bool shown_expire(struct shown *shown, double now, double hold_s, bool *ret_warn)
{
	if (shown->none_since <= 0 || now - shown->none_since < hold_s)
		return false;
	if (shown->is_known && shown->last == NULL)
		return false;
	*ret_warn = shown->had_any;
	endpoint_set_drop(shown->last);
	shown->last = NULL;
	shown->is_known = true;
	shown->had_any = false;
	return true;
}

void shown_fini(struct shown *shown)
{
	endpoint_set_drop(shown->last);
	shown->last = NULL;
}

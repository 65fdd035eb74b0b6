// SPDX-License-Identifier: Apache-2.0
#include "watcher/status_text.h"

#include "common/ip.h"
#include "common/json.h"

#include <ctype.h>
#include <stdlib.h>

enum { HOSTNAME_LEN_MAX = 253 };

static int compare_ports(const void *left, const void *right)
{
	const struct address_port *a = left;
	const struct address_port *b = right;
	int order = (a->port > b->port) - (a->port < b->port);
	return order != 0 ? order : (int)a->protocol - (int)b->protocol;
}

static int compare_addresses(const void *left, const void *right)
{
	const struct address *a = left;
	const struct address *b = right;
	int order = str_cmp(a->ip, b->ip);
	if (order == 0)
		order = str_cmp(a->hostname, b->hostname);
	if (order == 0)
		order = (a->ports.count > b->ports.count) - (a->ports.count < b->ports.count);
	for (size_t i = 0; order == 0 && i < a->ports.count; i++)
		order = compare_ports(&a->ports.items[i], &b->ports.items[i]);
	return order;
}

static bool take_ip(struct str ip, struct arena *arena, struct str *ret_ip)
{
	char text[INET6_ADDRSTRLEN];
	if (!ip_canonical(ip, text))
		return false;
	*ret_ip = arena_str(arena, str_from(text));
	return true;
}

static bool take_hostname(struct str hostname, struct arena *arena, struct str *ret_hostname)
{
	if (hostname.len > HOSTNAME_LEN_MAX)
		return false;
	char *copy = arena_alloc(arena, hostname.len + 1);
	for (size_t i = 0; i < hostname.len; i++) {
		unsigned char c = (unsigned char)hostname.p[i];
		if (c >= 0x80 || (!isalnum(c) && c != '-' && c != '.' && c != '_' && c != '*'))
			return false;
		copy[i] = (char)tolower(c);
	}
	*ret_hostname = (struct str){copy, hostname.len};
	return true;
}

static bool take_address(const struct address *from, struct arena *arena, struct address *to)
{
	*to = (struct address){0};
	if (from->ip.len == 0 && from->hostname.len == 0)
		return false;
	if (from->ip.len != 0 && !take_ip(from->ip, arena, &to->ip))
		return false;
	if (from->hostname.len != 0 && !take_hostname(from->hostname, arena, &to->hostname))
		return false;
	if (from->ports.count == 0)
		return true;
	size_t count = from->ports.count;
	to->ports.items = arena_calloc(arena, count, sizeof(struct address_port));
	memcpy(to->ports.items, from->ports.items, count * sizeof(struct address_port));
	qsort(to->ports.items, count, sizeof(struct address_port), compare_ports);
	for (size_t i = 0; i < count; i++) {
		size_t kept = to->ports.count;
		if (kept == 0 ||
			compare_ports(&to->ports.items[kept - 1], &to->ports.items[i]) != 0)
			to->ports.items[to->ports.count++] = to->ports.items[i];
	}
	return true;
}

static void put_address(struct json *list, const struct address *address)
{
	static const char *const protocols[] = {"TCP", "UDP", "SCTP"};
	struct json *entry = json_push_object(list);
	if (address->ip.len != 0)
		json_add_str(entry, "ip", address->ip);
	if (address->hostname.len != 0)
		json_add_str(entry, "hostname", address->hostname);
	if (address->ports.count == 0)
		return;
	struct json *ports = json_add_array(entry, "ports");
	for (size_t i = 0; i < address->ports.count; i++) {
		struct json *port = json_push_object(ports);
		json_add_int(port, "port", (int64_t)address->ports.items[i].port);
		json_add_str(
			port, "protocol", str_from(protocols[address->ports.items[i].protocol]));
	}
}

/* Absent if too long. */
static struct str print(const struct address *clean, size_t count, struct arena *arena)
{
	struct json *list = json_new_array();
	struct buf text;
	struct str result = STR_NONE;
	for (size_t i = 0; i < count; i++)
		put_address(list, &clean[i]);
	buf_init(&text, STATUS_TEXT_MAX);
	if (json_print(list, &text) == 0)
		result = arena_str(arena, buf_str(&text));
	buf_fini(&text);
	json_free(list);
	return result;
}

size_t status_clean(const struct address *addresses, size_t count, struct arena *arena,
	struct address **ret_list, size_t *ret_refused)
{
	size_t usable = 0;
	size_t kept = 0;
	struct address *list = NULL;
	if (count != 0 && count <= STATUS_ADDRESSES_MAX) {
		list = arena_calloc(arena, count, sizeof(*list));
		for (size_t i = 0; i < count; i++)
			usable += take_address(&addresses[i], arena, &list[usable]);
		if (usable != 0)
			qsort(list, usable, sizeof(*list), compare_addresses);
	}
	for (size_t i = 0; i < usable; i++) {
		if (kept == 0 || compare_addresses(&list[kept - 1], &list[i]) != 0)
			list[kept++] = list[i];
	}
	if (ret_refused != NULL)
		*ret_refused = count - usable;
	*ret_list = list;
	return kept;
}

struct str status_text(
	const struct address *addresses, size_t count, struct arena *arena, size_t *ret_refused)
{
	struct address *list = NULL;
	struct str text = STR_NONE;
	size_t kept = status_clean(addresses, count, arena, &list, ret_refused);
	if (kept != 0)
		text = print(list, kept, arena);
	if (text.len == 0 && ret_refused != NULL)
		*ret_refused = count;
	return text;
}

struct str status_text_without_ports(
	const struct address *addresses, size_t count, struct arena *arena)
{
	bool has_ports = false;
	if (count == 0 || count > STATUS_ADDRESSES_MAX)
		return STR_NONE;
	struct address *bare = arena_calloc(arena, count, sizeof(*bare));
	for (size_t i = 0; i < count; i++) {
		has_ports = has_ports || addresses[i].ports.count != 0;
		bare[i] =
			(struct address){.ip = addresses[i].ip, .hostname = addresses[i].hostname};
	}
	return has_ports ? status_text(bare, count, arena, NULL) : STR_NONE;
}

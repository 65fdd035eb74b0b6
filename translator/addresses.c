// SPDX-License-Identifier: Apache-2.0
#include "translator/addresses.h"

#include "common/ip.h"
#include "translator/hosts.h"

#include <stdlib.h>

/* In canonical form; absent if it is not an IP address. */
static struct str read_ip(struct str text, struct arena *arena)
{
	char canonical[INET6_ADDRSTRLEN];
	return ip_canonical(text, canonical) ? arena_str(arena, str_from(canonical)) : STR_NONE;
}

/* False: neither address nor name. A provider may have put either into the field of the other. */
static bool read_address(const struct address *from, struct arena *arena, struct address *ret)
{
	enum host_match match = HOST_ANY;
	struct str text = !str_is_empty(from->ip) ? from->ip : from->hostname;
	*ret = (struct address){.ip = read_ip(text, arena)};
	ret->ports.items = from->ports.items;
	ret->ports.count = from->ports.count;
	if (ret->ip.p != NULL)
		return true;
	if (str_ends_with(text, STR(".")))
		text.len--;
	ret->hostname = host_lower(arena, text);
	return host_check(ret->hostname, &match) == NULL && match == HOST_EXACT;
}

static int compare_places(const struct address *a, const struct address *b)
{
	int order = str_cmp(a->ip, b->ip);
	return order != 0 ? order : str_cmp(a->hostname, b->hostname);
}

static int compare_ports(const void *left, const void *right)
{
	const struct address_port *a = left;
	const struct address_port *b = right;
	if (a->port != b->port)
		return a->port < b->port ? -1 : 1;
	return (int)a->protocol - (int)b->protocol;
}

static int compare_addresses(const void *left, const void *right)
{
	const struct address *a = left;
	const struct address *b = right;
	int order = compare_places(a, b);
	if (order != 0)
		return order;
	return (a->ports.count > b->ports.count) - (a->ports.count < b->ports.count);
}

/* Merges and sorts the ports of the run [first, first + count) into its first address. */
static void join_ports(struct address *first, size_t count, struct arena *arena)
{
	size_t most = 0;
	size_t used = 0;
	for (size_t i = 0; i < count; i++)
		most += first[i].ports.count;
	struct address_port *ports = arena_calloc(arena, most, sizeof(*ports));
	for (size_t i = 0; i < count; i++) {
		for (size_t k = 0; k < first[i].ports.count; k++)
			ports[used++] = first[i].ports.items[k];
	}
	if (used > 1)
		qsort(ports, used, sizeof(*ports), compare_ports);
	size_t kept = 0;
	for (size_t i = 0; i < used; i++) {
		if (kept == 0 || compare_ports(&ports[kept - 1], &ports[i]) != 0)
			ports[kept++] = ports[i];
	}
	first->ports.items = ports;
	first->ports.count = kept;
}

void addresses_normalise(
	const struct lb_status *status, struct arena *arena, struct lb_status *ret_status)
{
	size_t most = status->addresses.count;
	struct address *items = arena_calloc(arena, most, sizeof(*items));
	size_t count = 0;
	size_t kept = 0;
	for (size_t i = 0; i < most; i++) {
		if (read_address(&status->addresses.items[i], arena, &items[count]))
			count++;
	}
	if (count > 1)
		qsort(items, count, sizeof(*items), compare_addresses);
	for (size_t begin = 0, end = 0; begin < count; begin = end) {
		while (end < count && compare_places(&items[begin], &items[end]) == 0)
			end++;
		join_ports(&items[begin], end - begin, arena);
		items[kept++] = items[begin];
	}
	ret_status->addresses.items = items;
	ret_status->addresses.count = kept;
}

bool addresses_equal(const struct lb_status *a, const struct lb_status *b)
{
	if (a->addresses.count != b->addresses.count)
		return false;
	for (size_t i = 0; i < a->addresses.count; i++) {
		const struct address *x = &a->addresses.items[i];
		const struct address *y = &b->addresses.items[i];
		if (compare_places(x, y) != 0 || x->ports.count != y->ports.count)
			return false;
		for (size_t k = 0; k < x->ports.count; k++) {
			if (compare_ports(&x->ports.items[k], &y->ports.items[k]) != 0)
				return false;
		}
	}
	return true;
}

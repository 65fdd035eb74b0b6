// SPDX-License-Identifier: Apache-2.0
#include "provider-proxy/inherited.h"

#include "common/xalloc.h"

#include <stdlib.h>

void inherited_clear(struct inherited *inherited)
{
	free(inherited->list.items);
	*inherited = (struct inherited){0};
}

void inherited_add(struct inherited *inherited, struct str ip, struct str port)
{
	struct socket_list *list = &inherited->list;
	struct socket_address address = {0};
	int64_t number = 0;
	if (list->count == INHERITED_MAX || !check_ip(ip, &address.ip) ||
		!str_to_int(port, 1, UINT16_MAX, &number))
		return;
	address.port = (uint16_t)number;
	list->items = xreallocarray(list->items, list->count + 1, sizeof(*list->items));
	list->items[list->count++] = address;
	inherited->is_sorted = false;
}

const struct socket_list *inherited_list(struct inherited *inherited)
{
	struct socket_list *list = &inherited->list;
	if (!inherited->is_sorted && list->count != 0)
		qsort(list->items, list->count, sizeof(*list->items), socket_compare);
	inherited->is_sorted = true;
	return list;
}

bool inherited_is_used(struct inherited *inherited, const struct ports *ports)
{
	const struct socket_list *list = inherited_list(inherited);
	for (size_t i = 0; i < ports->count; i++) {
		const struct port *port = &ports->items[i];
		for (size_t k = 0; k < port->bind_count; k++) {
			struct socket_address address = port_address(port, &port->binds[k]);
			if (socket_list_has_address(list, &address))
				return true;
		}
	}
	return false;
}

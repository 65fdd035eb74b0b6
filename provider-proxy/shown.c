// SPDX-License-Identifier: Apache-2.0
#include "provider-proxy/shown.h"

/* Checks for listeners that were promised but are not served. */
static void report_unserved(const struct shown *shown, const struct load_balancer *value,
	struct arena *arena, struct lb_status *status)
{
	struct str reason = unserved_of(shown->unserved, value->key.id);
	size_t count = unserved_count(shown->unserved, value->key.id);
	if (status->state != LB_STATE_APPLIED || (count == 0 && value->listeners.count != 0))
		return;
	status->state = LB_STATE_FAILED;
	status->message =
		count > 1    ? arena_printf(arena, "%.*s; and %zu more", STR_FMT(reason), count - 1)
		: count == 1 ? reason
			     : STR("it has no listener that can be had");
}

/* Those of its bind addresses that this machine has. */
static size_t own_addresses(const struct shown *shown, const struct load_balancer *value,
	struct arena *arena, struct address **ret_addresses)
{
	struct address *list = arena_calloc(arena, value->listeners.count + 1, sizeof(*list));
	size_t count = 0;
	for (size_t i = 0; i < value->listeners.count; i++) {
		struct check_ip ip;
		if (!check_ip(value->listeners.items[i].address, &ip))
			continue;
		struct str text = arena_str(arena, str_from(ip.text));
		bool is_new = !unserved_address(shown->unserved, text);
		for (size_t k = 0; k < count && is_new; k++)
			is_new = !str_eq(list[k].ip, text);
		if (is_new)
			list[count++].ip = text;
	}
	*ret_addresses = list;
	return count;
}

static bool has_own_addresses(const struct load_balancer *value)
{
	return value->listeners.count != 0 && !str_is_empty(value->listeners.items[0].address);
}

static size_t shared_addresses(
	const struct shown *shown, struct arena *arena, struct address **ret_addresses)
{
	struct address *list;
	size_t count = publish_list(shown->publish, arena, &list);
	size_t kept = 0;
	for (size_t i = 0; i < count; i++) {
		if (publish_is_given(shown->publish) ||
			!unserved_address(shown->unserved, list[i].ip))
			list[kept++] = list[i];
	}
	*ret_addresses = list;
	return kept;
}

/* While other programs hold all its ports, nothing new is published and what is published stays: the other program may be a provider that
 * hands over to us. An address that this machine does not have is no such reason. */
static bool has_any_port(const struct shown *shown, const struct load_balancer *value)
{
	const struct check_ip *binds;
	size_t count = 0;
	size_t bind_count = publish_binds(shown->publish, &binds);
	for (size_t i = 0; i < value->listeners.count; i++)
		count += !str_is_empty(value->listeners.items[i].service)  ? 0
			 : str_is_empty(value->listeners.items[i].address) ? bind_count
									   : 1;
	return unserved_taken(shown->unserved, value->key.id) < count || count == 0;
}

void shown_fill(const struct shown *shown, const struct load_balancer *value, struct arena *arena,
	struct lb_status *status)
{
	report_unserved(shown, value, arena, status);
	status->addresses.count =
		has_own_addresses(value)
			? own_addresses(shown, value, arena, &status->addresses.items)
			: shared_addresses(shown, arena, &status->addresses.items);
	status->addresses_known = has_any_port(shown, value) &&
				  (status->addresses.count != 0 || has_own_addresses(value));
}

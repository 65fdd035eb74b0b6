// SPDX-License-Identifier: Apache-2.0
/*
 * Addresses in their canonical form: the JSON text of `status.loadBalancer.ingress`, with addresses
 * and ports sorted, IP addresses as inet_ntop(3) writes them, host names in lower case, and no
 * duplicates. Two lists that mean the same therefore have the same bytes, and the text goes into a
 * patch as it is.
 */
#pragma once

#include "common/arena.h"
#include "proto/model.h"

enum { STATUS_ADDRESSES_MAX = 1024, STATUS_TEXT_MAX = 256 * 1024 };

/* The usable ones in their canonical form and order, without duplicates: *ret_list in the arena.
 * *ret_refused counts the others; may be NULL. None (and all refused) beyond STATUS_ADDRESSES_MAX. */
size_t status_clean(const struct address *addresses, size_t count, struct arena *arena,
	struct address **ret_list, size_t *ret_refused);
/* Empty (STR_NONE) when no usable address is left. *ret_refused counts those that are neither an IP
 * address nor a host name; may be NULL. Absent too (and all refused) when the list is longer than
 * the limits. */
struct str status_text(
	const struct address *addresses, size_t count, struct arena *arena, size_t *ret_refused);
/* What is left of them on a server that does not keep ports. Absent when they have none. */
struct str status_text_without_ports(
	const struct address *addresses, size_t count, struct arena *arena);

// SPDX-License-Identifier: Apache-2.0
/*
 * Where traffic enters according to the administrator (--publish-address), and on which addresses listeners are bound (--bind-address).
 */
#pragma once

#include "common/options.h"
#include "common/arena.h"
#include "proto/model.h"
#include "provider-proxy/checks.h"

struct publish;

/* Finds out once whether this machine has IPv6, which takes a socket; publish_new() does it otherwise. To be called before a sandbox without sockets is
 * entered. */
void publish_prepare(void);
/* NULL and a text (allocated) in *ret_problem when an item is neither an IP address nor a host name. Without items: the addresses in `binds`
 * that are not wildcards; if there are none, the source addresses of this machine's default routes, which publish_list() looks up. */
struct publish *publish_new(
	const struct option_list *items, const struct option_list *binds, char **ret_problem);
void publish_free(struct publish *publish);
/* Addresses of a status, sorted; texts live as long as `publish` or in the arena. 0: none is known. */
size_t publish_list(
	const struct publish *publish, struct arena *arena, struct address **ret_addresses);

/* Whether the addresses to show are --publish-address. */
bool publish_is_given(const struct publish *publish);

/* The addresses to bind: those given, else 0.0.0.0 and, where there is IPv6, `::` (for IPv6 alone). */
size_t publish_binds(const struct publish *publish, const struct check_ip **ret_binds);

// SPDX-License-Identifier: Apache-2.0
/*
 * Whom to believe about who the client is: networks of proxies in front of ours (--trusted-proxies), and the header in which each of them adds whom it was
 * asked by (--client-address-header). The client is the first address in it, from the right, that is none of theirs. Nobody is believed
 * without the option. Pure.
 */
#pragma once

#include "common/options.h"
#include "provider-proxy/checks.h"

enum { TRUSTED_PROXIES_MAX = 64, CLIENT_HEADER_LEN_MAX = 64 };

/* NULL, or what is wrong in words (the caller frees it). */
char *trusted_proxies_problem(const struct option_list *proxies, const char *header);
/* False: there are no more. The options have no problem. */
bool trusted_proxies_get(
	const struct option_list *proxies, size_t index, struct check_cidr *ret_network);

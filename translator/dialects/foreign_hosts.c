// SPDX-License-Identifier: Apache-2.0
#include "translator/dialects/foreign_hosts.h"

#include "common/xalloc.h"
#include "translator/hosts.h"

bool foreign_host_is_local(struct str name)
{
	return str_eq_c(name, "localhost") || str_ends_with(name, STR(".localhost")) ||
	       str_eq_c(name, "localhost.localdomain") || str_eq_c(name, "localhost4") ||
	       str_eq_c(name, "localhost6") || str_eq_c(name, "ip6-localhost") ||
	       str_eq_c(name, "ip6-loopback");
}

/* The last label of an address, which a name server need not be asked for, is a number. */
static bool ends_with_number(struct str host)
{
	size_t at = host.len;
	while (at != 0 && host.p[at - 1] != '.')
		at--;
	for (size_t i = at; i < host.len; i++) {
		if (host.p[i] < '0' || host.p[i] > '9')
			return false;
	}
	return true;
}

static bool is_small(struct str host)
{
	for (size_t i = 0; i < host.len; i++) {
		if (host.p[i] >= 'A' && host.p[i] <= 'Z')
			return false;
	}
	return true;
}

/* A name with a dot is no Service's. */
static bool is_foreign(struct str host)
{
	enum host_match match = HOST_ANY;
	return is_small(host) && host_check(host, &match) == NULL && match == HOST_EXACT &&
	       !ends_with_number(host) && str_find(host, '.') != NULL &&
	       !foreign_host_is_local(host);
}

static bool has_domain(struct str host, struct str wildcard)
{
	struct str domain = str_skip(wildcard, 1);
	return str_starts_with(wildcard, STR("*.")) && host.len > domain.len &&
	       str_ends_with(host, domain);
}

bool foreign_hosts_have(const struct option_list *allowed, struct str host)
{
	if (allowed == NULL || !is_foreign(host))
		return false;
	for (size_t i = 0; i < allowed->count; i++) {
		struct str item = str_from(allowed->items[i]);
		if (str_eq(item, host) || has_domain(host, item))
			return true;
	}
	return false;
}

char *foreign_hosts_problem(const struct option_list *allowed)
{
	for (size_t i = 0; i < allowed->count; i++) {
		struct str item = str_from(allowed->items[i]);
		struct str name = str_starts_with(item, STR("*.")) ? str_skip(item, 2) : item;
		if (!is_foreign(name))
			return xasprintf("--egress-hosts %.100s: the name of a host in small "
					 "letters is expected, such as auth.example.com or "
					 "*.corp.example",
				allowed->items[i]);
	}
	return NULL;
}

// SPDX-License-Identifier: Apache-2.0
/*
 * Asynchronous resolution of host names (c-ares). Names are taken as they are, without search domains and without /etc/hosts; IPv6 addresses
 * are queried only when there are no IPv4 addresses.
 */
#pragma once

#include "common/options.h"
#include "provider-proxy/checks.h"

#include <ev.h>

enum { DNS_ADDRESSES_MAX = 64 /* of one name; others are left out */ };

struct dns;

enum dns_outcome {
	DNS_FOUND,
	DNS_NOTHING, /* there is no such name, or it has no address */
	DNS_FAILED,  /* no server gave an answer */
};

struct dns_answer {
	enum dns_outcome outcome;
	struct check_ip ips[DNS_ADDRESSES_MAX];
	size_t ip_count;
	double ttl_s;    /* how long they may be used */
	const char *why; /* unless found; static */
};

typedef void dns_reply(void *ctx, const struct dns_answer *answer);

/* `servers`: ADDRESS or ADDRESS:PORT; none: those of /etc/resolv.conf. NULL and *ret_problem, allocated. */
struct dns *dns_new(struct ev_loop *loop, const struct option_list *servers, char **ret_problem);
/* Outstanding replies are dropped. */
void dns_free(struct dns *dns);
/* The reply may come before this returns. */
void dns_ask(struct dns *dns, const char *name, dns_reply *reply, void *ctx);

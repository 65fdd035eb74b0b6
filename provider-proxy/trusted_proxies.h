// SPDX-License-Identifier: Apache-2.0
/*
 * Whom to believe about who the client is: networks of proxies in front of ours (--trusted-proxies, else those of the load balancer), and the header in which
 * each of them adds whom it was asked by (--client-address-header, likewise). The client is the first address in it, from the right, that is none of theirs. Nobody is
 * believed without either. Pure.
 */
#pragma once

#include "common/arena.h"
#include "common/options.h"
#include "proto/model.h"
#include "provider-proxy/checks.h"

enum {
	TRUSTED_PROXIES_MAX = 64,
	TRUSTED_NETWORKS_MAX = 1024,
	CLIENT_HEADER_LEN_MAX = 64,
	CLAIM_LEN_MAX = 512
};

/* What a load balancer says of proxies in front, as far as it can be used. */
struct port_forwarding {
	struct check_cidr *trusted;
	size_t trusted_count;
	char client_header[CLIENT_HEADER_LEN_MAX + 1];
	bool reads_proxy;     /* clients speak the PROXY protocol first */
	bool believes_scheme; /* see struct forwarding, also for: */
	bool believes_port;
	bool believes_host;
	bool appends;
	bool keeps_claims;
	uint16_t https_port;     /* 0: the listener's */
	uint16_t own_https_port; /* whoever tells it means https_port; 0: none */
	bool makes_request_ids;
};
/* `forwarding` NULL: nothing is said. In the arena. */
void trusted_proxies_read(const struct forwarding *forwarding, bool reads_proxy,
	struct arena *arena, struct port_forwarding *ret_forwarding);

/* What the administrator says of all load balancers: then their own networks, and their own header, do not count. */
struct trusted_options {
	const struct option_list *networks; /* NULL: none */
	struct str header;
};
/* One of the networks whose header is believed; false: there are no more. Where the PROXY protocol is read nobody's header is, but of the options' networks. */
bool trusted_proxies_next(const struct trusted_options *options,
	const struct port_forwarding *forwarding, size_t index, struct check_cidr *ret_network);
struct str trusted_proxies_header(
	const struct trusted_options *options, const struct port_forwarding *forwarding);
/* Whether there are some, and their header is one that names one client: only X-Forwarded-For is a list to which each adds, in lines of its own perhaps. */
bool trusted_proxies_name_one(
	const struct trusted_options *options, const struct port_forwarding *forwarding);
/* One of those who are believed about the rest: the scheme, and who has asked them before. */
bool trusted_proxies_next_front(const struct trusted_options *options,
	const struct port_forwarding *forwarding, size_t index, struct check_cidr *ret_network);
/* Whether what they say of the scheme is believed, of anybody. */
bool trusted_proxies_believe_scheme(
	const struct trusted_options *options, const struct port_forwarding *forwarding);
/* Likewise, what they say by the PROXY protocol of the port. */
bool trusted_proxies_believe_port(
	const struct trusted_options *options, const struct port_forwarding *forwarding);
/* Likewise, what they say of the host. */
bool trusted_proxies_believe_host(
	const struct trusted_options *options, const struct port_forwarding *forwarding);
/* Likewise, whether X-Forwarded-For is added to. */
bool trusted_proxies_append(
	const struct trusted_options *options, const struct port_forwarding *forwarding);

/* NULL, or what is wrong in words (the caller frees it). */
char *trusted_proxies_problem(const struct option_list *proxies, const char *header);
/* False: there are no more. The options have no problem. */
bool trusted_proxies_get(
	const struct option_list *proxies, size_t index, struct check_cidr *ret_network);

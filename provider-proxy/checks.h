// SPDX-License-Identifier: Apache-2.0
/*
 * Every value that is rendered for a proxy goes through one of these checks first. They refuse and never repair; the translator has
 * checked already, but a provider trusts nobody. What passes contains no white space, no control bytes, no quotes, and nothing that has
 * a meaning in the proxies' files and on their sockets (see each check). No I/O.
 */
#pragma once

#include "common/str.h"

#include <netinet/in.h>

enum {
	CHECK_HOST_LEN_MAX = 253,
	/* A request line has to fit into the proxies' buffers together with the rest, so a longer path can never be requested. */
	CHECK_PATH_LEN_MAX = 4096,
	/* nginx looks a request's path up element by element. */
	CHECK_PATH_ELEMENTS_MAX = 64,
	CHECK_COOKIE_LEN_MAX = 64,
	CHECK_OWNER_LEN_MAX = 63 + 1 + 253,
	CHECK_IP_LEN_MAX = INET6_ADDRSTRLEN,
};

/* Lower-case DNS name (RFC 1123) of at most 253 bytes, labels of at most 63; no trailing dot, no port. */
bool check_host(struct str host);
/* Likewise of a backend, for TLS: underscores are good, too. */
bool check_server_name(struct str name);
/* `NAMESPACE/NAME` of an object of Kubernetes: lower-case letters, digits, `-` and `.`. */
bool check_owner(struct str owner);
/* `*.` followed by such a name. */
bool check_wildcard(struct str host);
/* Begins with `/`, at most CHECK_PATH_ELEMENTS_MAX of them; bytes 0x21 to 0x7e without `#` and `?`, which cannot arrive in a path. */
bool check_path(struct str path);
/* The same of a decoded path, as paths_encode() makes it: without blanks and control bytes. */
bool check_encoded_path(struct str path);
/* Token of RFC 6265, section 4.1.1, further limited to letters, digits, `-`, `_` and `.`. */
bool check_cookie_name(struct str name);
/* 1 to 65535. */
bool check_port(uint64_t port);

struct check_ip {
	int family;                  /* AF_INET or AF_INET6 */
	char text[CHECK_IP_LEN_MAX]; /* canonical, as inet_ntop() writes it */
	uint8_t bytes[16];           /* 4 of them for AF_INET */
};

/* An address without zone, brackets or port; an IPv4-mapped one becomes IPv4. */
bool check_ip(struct str text, struct check_ip *ret_ip);

struct check_cidr {
	struct check_ip ip; /* bits after the prefix are zero */
	unsigned bits;
};

/* `ADDRESS/BITS` or an address alone. */
bool check_cidr(struct str text, struct check_cidr *ret_cidr);

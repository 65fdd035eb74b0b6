// SPDX-License-Identifier: Apache-2.0
/* Whether a client's certificate is good, by the authorities that a host names. No I/O, and no state: for any thread. */
#pragma once

#include "common/str.h"

#include <stdbool.h>

enum {
	CLIENT_CHAIN_MAX = 16,          /* certificates; further ones are not looked at */
	CLIENT_NAME_LEN_MAX = 2 * 1024, /* a longer one is an empty text */
	CLIENT_REASON_LEN_MAX = 128,
};

struct client_certificate {
	struct str leaf;        /* DER */
	struct str chain;       /* DER, one behind the other: what else the client has sent */
	struct str authorities; /* PEM */
	struct str revoked;     /* PEM; empty: none is asked about */
	unsigned depth; /* certificates that may stand between it and an authority, plus one */
};

struct client_verdict {
	bool is_good;
	char reason[CLIENT_REASON_LEN_MAX]; /* why not, in OpenSSL's words */
	char subject[CLIENT_NAME_LEN_MAX];  /* RFC 2253 */
	char issuer[CLIENT_NAME_LEN_MAX];
};

/* False: it is no certificate. */
bool client_certificate_check(
	const struct client_certificate *certificate, struct client_verdict *ret_verdict);

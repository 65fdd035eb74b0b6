// SPDX-License-Identifier: Apache-2.0
/*
 * Certificates and keys as found in TLS Secrets, checked with OpenSSL before any provider is asked
 * to serve them.
 *
 * API validation of Kubernetes checks only that both values exist: they may be empty, not PEM,
 * encrypted, mismatched, expired, in the wrong order, or have text between the blocks.
 */
#pragma once

#include "common/arena.h"
#include "common/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	CERT_CHAIN_MAX = 16, /* certificates in one chain */
	CERT_NAMES_MAX = 1024,
	CERT_PEM_LEN_MAX = 1024 * 1024,
};

struct cert_info {
	/* DNS names of the leaf (subjectAltName, else the common name), lower case, sorted, without
	 * duplicates; in the arena. Entries that are not host names are left out. */
	struct str *names;
	size_t name_count;
	int64_t not_before; /* seconds since 1970 */
	int64_t not_after;
	/* Of the leaf: hexadecimal, lower case, without leading zeros, "-" before a negative one; in the arena. */
	struct str serial;
	/* PEM, only the certificates, leaf first and each signed by the next, as their key identifiers say or, where one has none, as the
	 * signatures do; those outside this chain are left out. In the arena. */
	struct str chain;
};

/* Makes OpenSSL read its configuration, and decoders, now instead of on first use; call it before entering a sandbox.
 * After it cert_check() opens no file. */
void cert_setup(void);
/* NULL if chain and key are valid and match: *ret_info is filled. Otherwise a static error message,
 * such as "tls.key does not fit tls.crt". Expiry is not checked here. `key` may be absent: then
 * only the chain is checked. */
const char *cert_check(
	struct str chain, struct str key, struct arena *arena, struct cert_info *ret_info);
/* NULL if the text holds certificates that others can be verified against; *ret_pem is then these alone, as PEM, in the arena.
 * Otherwise a static error message that begins with a verb: "holds no certificate". At most CERT_AUTHORITIES_MAX. */
enum { CERT_AUTHORITIES_MAX = 64 };
const char *cert_authorities(struct str pem, struct arena *arena, struct str *ret_pem);
/* Likewise for lists of revoked certificates. */
const char *cert_revocations(struct str pem, struct arena *arena, struct str *ret_pem);
/* Whether `host` is covered by one of the names, which are in lower case and sorted as cert_check() gives them: exact, or a
 * wildcard of one label. */
bool cert_covers(const struct str *names, size_t count, struct str host);

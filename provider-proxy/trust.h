// SPDX-License-Identifier: Apache-2.0
/*
 * TLS to the endpoints of a pool, checked and named: CAs and client certificates are files named by the digest of their content, so a file
 * never changes, pools with the same content share one file, and nobody can put other content under somebody else's name. No I/O.
 */
#pragma once

#include "common/arena.h"
#include "common/buf.h"
#include "proto/model.h"
#include "provider-proxy/names.h"

enum { TRUST_CONTENT_LEN_MAX = 16 * 1024 };

/* text[0] == 0: there is none. */
struct trust {
	struct name ca;
	struct name client;
	struct name
		whole; /* of all settings: a connection made under one must not be reused under another */
};

/* Of a file `NAME.pem` that holds a CA or a client certificate. */
bool trust_read_file_name(struct str file, struct name *ret_name);
/* NULL and *ret_trust, or why no connection may be made with these settings, in words for the owner. */
const char *trust_of(const struct pool_tls *tls, struct trust *ret_trust);
/* Whether handshakes are made otherwise than usual. */
bool trust_has_terms(const struct pool_tls *tls);
/* With colons between them, of ciphers that trust_of() has accepted; empty: the usual ones. Lives in the arena. */
struct str trust_ciphers(const struct pool_tls *tls, struct arena *arena);
/* Appends the content of the file: PEM blocks with nothing between them. For a name that trust_of() has returned. -EMSGSIZE when it
 * does not fit. */
[[nodiscard]] int trust_ca_content(const struct pool_tls *tls, struct buf *out);
[[nodiscard]] int trust_client_content(const struct pool_tls *tls, struct buf *out);

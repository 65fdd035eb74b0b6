// SPDX-License-Identifier: Apache-2.0
/*
 * TLS to the endpoints of a pool, checked and named: CAs and client certificates are files whose names are digests of what is in them, so
 * a file never changes, the same for many pools is one file, and nobody can put anything under somebody else's name. No I/O.
 */
#pragma once

#include "common/buf.h"
#include "proto/model.h"
#include "provider-proxy/names.h"

enum { TRUST_CONTENT_LEN_MAX = 16 * 1024 };

/* text[0] == 0: there is none. */
struct trust {
	struct name ca;
	struct name client;
	struct name
		whole; /* of all settings: what was made under one must not be used under another */
};

/* NULL and *ret_trust, or why nobody must be spoken to so: in words for the owner. */
const char *trust_of(const struct pool_tls *tls, struct trust *ret_trust);
/* Appends the content of the file: PEM blocks without anything between them. For a name that trust_of() has given. -EMSGSIZE when it
 * does not fit. */
[[nodiscard]] int trust_ca_content(const struct pool_tls *tls, struct buf *out);
[[nodiscard]] int trust_client_content(const struct pool_tls *tls, struct buf *out);

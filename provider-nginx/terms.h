// SPDX-License-Identifier: Apache-2.0
/*
 * How handshakes with backends are made, as far as nginx knows it only as directives: who is trusted, and what differs from the usual. Each set of terms has a name and
 * locations of its own (trusts.h). As text, which stands beside the name in nginx.conf, so that they are known again after a start. No I/O.
 *
 *   BASE/NAMELESS/MIN/MAX/DEPTH/CIPHERS, for example system/n/12/13/1/AES256-SHA:AES128-SHA
 */
#pragma once

#include "proto/model.h"
#include "provider-proxy/trust.h"

enum { TERMS_TEXT_LEN_MAX = 3100 };

struct terms {
	struct name base; /* of a CA's content, POOL_TEXT_SYSTEM, or TERMS_OFF */
	bool nameless;
	unsigned min_version; /* 12 or 13; 0: the usual */
	unsigned max_version;
	unsigned max_depth; /* 0: the usual */
	struct str ciphers; /* with colons between them; empty: the usual */
};

/* In place of a CA's name: certificates are not checked. */
#define TERMS_OFF "off"

/* What stands in the row of a pool with TLS that trust_of() has accepted: whom it trusts, or a name of its terms. *ret_text: these, in the arena; empty: they are the usual. */
struct name terms_name(const struct pool_tls *tls, const struct trust *trust, struct arena *arena,
	struct str *ret_text);
/* False: it is no such text. Views of it. */
bool terms_read(struct str text, struct terms *ret_terms);

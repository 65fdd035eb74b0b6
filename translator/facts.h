// SPDX-License-Identifier: Apache-2.0
/*
 * Facts about a TLS Secret: whether it can be served, the names and dates of its certificate.
 * Parsing costs as much as many other steps, so the result is kept until the Secret changes, and most certificates are parsed but once.
 * It holds neither certificate nor key.
 */
#pragma once

#include "translator/tls.h"

struct secret_facts {
	struct tls_secret view; /* its names follow this struct in memory */
	bool is_in_form;        /* its certificates stand there as cert_check() would write them */
};

/* `secret`: NULL if there is none. `work` is scratch memory. `takes_keyless`: a Secret without a key is good if its certificate is.
 */
struct secret_facts *facts_new(
	const struct secret_record *secret, bool takes_keyless, struct arena *work);
void facts_free(struct secret_facts *facts);
/* Whether both would give the same diagnostics, at the time of the context. */
bool facts_sound_alike(const struct secret_facts *a, const struct secret_facts *b,
	const struct tls_context *context);

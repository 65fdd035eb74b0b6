// SPDX-License-Identifier: Apache-2.0
/*
 * What there is to know of a TLS Secret: whether it can be served, the names and dates of its
 * certificate. Looking costs as much as a thousand other steps, so the answer is kept until the
 * Secret changes. Neither certificate nor key is in it.
 */
#pragma once

#include "translator/tls.h"

struct secret_facts {
	struct tls_secret view; /* its names stand behind this struct */
};

/* Of a record; NULL: there is none. `work` is used for a while. `takes_keyless`: one without a key is good if its certificate is. */
struct secret_facts *facts_new(
	const struct secret_record *secret, bool takes_keyless, struct arena *work);
void facts_free(struct secret_facts *facts);
/* Whether everybody who hears of one would hear the same of the other, at the time of the context.
 */
bool facts_sound_alike(const struct secret_facts *a, const struct secret_facts *b,
	const struct tls_context *context);

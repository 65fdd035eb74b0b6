// SPDX-License-Identifier: Apache-2.0
/*
 * Secrets as those see them who need certificates: each is looked at once, until it changes, and told of again when its time comes. Whether one
 * goes to the provider is decided here, and with it of any object whether it should be there.
 */
#pragma once

#include "translator/facts.h"
#include "translator/graph.h"
#include "translator/provider_peer.h"
#include "translator/source_peer.h"

struct secrets;

struct secret_name {
	struct str namespace;
	struct str name;
};

/* All must stay valid. `config`: what it says of certificates. */
struct secrets *secrets_new(struct graph *graph, const struct source_peer *source,
	const struct provider_peer *provider, const struct engine_config *config,
	struct arena *scratch);
void secrets_free(struct secrets *secrets);

/* Seconds since 1970. True: what was told of certificates may be otherwise now. */
bool secrets_set_time(struct secrets *secrets, int64_t now_s);
struct tls_context secrets_context(struct secrets *secrets);
/* Looked at when it was not. */
const struct secret_facts *secrets_facts(struct secrets *secrets, struct secret_node *secret);
/* The administrator's default certificate; without a name: there is none. */
struct secret_name secrets_default(const struct secrets *secrets);
bool secrets_is_default(const struct secrets *secrets, const struct node *secret);
/* Whether one without its key is as good. */
bool secrets_take_keyless(const struct secrets *secrets);

/* Whether the object should be there. */
bool object_is_wanted(struct secrets *secrets, struct node *node);

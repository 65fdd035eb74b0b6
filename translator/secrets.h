// SPDX-License-Identifier: Apache-2.0
/*
 * Secrets for those who need certificates: each is parsed once until it changes, and reported again when its validity changes. This also
 * decides whether a Secret goes to the provider, and whether any other object should exist.
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

/* All must stay valid. `config`: its settings for certificates. */
struct secrets *secrets_new(struct graph *graph, const struct source_peer *source,
	const struct provider_peer *provider, const struct engine_config *config,
	struct arena *scratch);
void secrets_free(struct secrets *secrets);

/* Seconds since 1970. True: diagnostics of certificates may have changed. */
bool secrets_set_time(struct secrets *secrets, int64_t now_s);
struct tls_context secrets_context(struct secrets *secrets);
/* Parses the Secret if needed. */
const struct secret_facts *secrets_facts(struct secrets *secrets, struct secret_node *secret);
/* The administrator's default certificate; an empty name: none. */
struct secret_name secrets_default(const struct secrets *secrets);
bool secrets_is_default(const struct secrets *secrets, const struct node *secret);
/* Whether Secrets without their keys are accepted. */
bool secrets_take_keyless(const struct secrets *secrets);

/* Whether the object should exist. */
bool object_is_wanted(struct secrets *secrets, struct node *node);

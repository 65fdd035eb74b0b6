// SPDX-License-Identifier: Apache-2.0
/*
 * Whether the proxies accept a certificate: OpenSSL refuses keys and signatures that are too weak for its security level, whichever program loads
 * them. It is asked here in the same way, with the defaults that the proxies run with. If a Secret is renewed with such a certificate, the pair
 * that it had before stays in use, and the owner gets a notice.
 */
#pragma once

#include "provider-common/state.h"
#include "provider-proxy/notices.h"

struct usable;

/* `notices` may be NULL when only usable_problem() is asked. */
struct usable *usable_new(struct notices *notices);
void usable_free(struct usable *usable);
/* NULL, or why a server cannot use the chain (PEM, leaf first), in OpenSSL's words; static. */
const char *usable_problem(struct usable *usable, struct str chain);
/*
 * A certificate has replaced `old` (NULL: it is new). If it cannot be used, its owner gets a notice, and it gets the pair of `old`. If that is not
 * usable either, its pair is removed if `drops`; otherwise it stays as it is, and the proxy accepts or refuses it. Returns whether its pair was
 * replaced or removed.
 */
bool usable_admit(struct usable *usable, struct state *state, const struct object *old,
	struct certificate *certificate, bool drops, struct arena *arena);
/* Clears the notices of certificates that are gone. */
void usable_on_commit(struct usable *usable, const struct state_commit *commit);

// SPDX-License-Identifier: Apache-2.0
/*
 * Whether the proxies take a certificate: OpenSSL refuses keys and signatures that are too weak for its security level, whoever asks. It is asked here in the same way, with
 * the defaults that the proxies run with. A Secret that was renewed with such a certificate goes on being served with the pair that it had, and the owner is told.
 */
#pragma once

#include "provider-common/state.h"
#include "provider-proxy/notices.h"

struct usable;

/* `notices` may be NULL when only usable_problem() is asked. */
struct usable *usable_new(struct notices *notices);
void usable_free(struct usable *usable);
/* NULL, or OpenSSL's words for why a server cannot use the chain (PEM, leaf first); static. */
const char *usable_problem(struct usable *usable, struct str chain);
/*
 * A certificate has come in the place of `old` (NULL: of none). When it cannot be used its owner is told, and it gets the pair of `old`; without a
 * usable one none at all if `drops`, else it stays as it is, and the proxy has to say what it thinks. Whether it has
 * another pair now.
 */
bool usable_admit(struct usable *usable, struct state *state, const struct object *old,
	struct certificate *certificate, bool drops, struct arena *arena);
/* Of certificates that are gone nothing is told any more. */
void usable_on_commit(struct usable *usable, const struct state_commit *commit);

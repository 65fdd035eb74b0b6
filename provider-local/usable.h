// SPDX-License-Identifier: Apache-2.0
/*
 * Whether the proxies take a certificate: OpenSSL refuses keys and signatures that are too weak for its security level, whoever asks. It is asked here in the same way, with
 * the defaults that the proxies run with. A Secret that was renewed with such a certificate goes on being served with the pair that it had, and the owner is told.
 */
#pragma once

#include "common/str.h"

struct usable;

struct usable *usable_new(void);
void usable_free(struct usable *usable);
/* NULL, or OpenSSL's words for why a server cannot use the chain (PEM, leaf first); static. */
const char *usable_problem(struct usable *usable, struct str chain);

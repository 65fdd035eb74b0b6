// SPDX-License-Identifier: Apache-2.0
/* How many load balancers use each certificate, whoever's it is. No I/O. */
#pragma once

#include "common/str.h"

struct cert_uses;

struct cert_uses *cert_uses_new(void);
void cert_uses_free(struct cert_uses *uses);
/* Adds 1 or -1; returns how many there are now. */
size_t cert_uses_add(struct cert_uses *uses, struct str id, int change);
size_t cert_uses_count(const struct cert_uses *uses, struct str id);

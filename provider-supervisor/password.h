// SPDX-License-Identifier: Apache-2.0
/* Whether a password fits a hash, of the kinds that PROTOCOL.md names. No I/O. */
#pragma once

#include "common/str.h"

#include <crypt.h>

enum {
	PASSWORD_LEN_MAX = 4096,       /* a longer one fits nothing */
	PASSWORD_HASH_LEN_MAX = 256,   /* likewise */
	PASSWORD_ROUNDS_MAX = 1000000, /* of $5$ and $6$ */
	PASSWORD_COST_MAX = 15,        /* of bcrypt: some seconds */
};

/* Takes as long as the hash wants, so it is for threads that nobody waits for. `scratch` is all that it changes, and holds nothing afterwards. False also for a
 * hash of no known kind, or one that takes too long. */
bool password_fits(struct str password, struct str hash, struct crypt_data *scratch);

// SPDX-License-Identifier: Apache-2.0
/*
 * Who is trusted to sign certificates of backends. nginx knows that only as directives, so each CA has locations of its own in nginx.conf and a
 * file, and a pool may name it from when nginx runs with them until its row names another. No I/O.
 *
 * Names are those of trust.h, of a CA's content, or POOL_TEXT_SYSTEM; or of terms (terms.h), which use the CA that they begin with as long as they have users.
 */
#pragma once

#include "provider-proxy/names.h"

struct trusts;

struct trusts *trusts_new(void);
void trusts_free(struct trusts *trusts);

/* One user more, or less; `content` is what the file has to hold, absent for none; `terms` those of a name of such, empty if they are not known. Without text nothing
 * happens. */
void trusts_use(
	struct trusts *trusts, const struct name *name, struct str content, struct str terms);
void trusts_drop(struct trusts *trusts, const struct name *name);
/* Whether it has users, or nginx runs with it: the configuration that names it would be started again with it. */
bool trusts_has(const struct trusts *trusts, const struct name *name);
/* Whether nginx runs with it. */
bool trusts_is_live(const struct trusts *trusts, const struct name *name);
/* nginx runs with this configuration, as conf.h renders it. */
void trusts_set_live(struct trusts *trusts, struct str conf);
/* Whether some have come or gone since this was asked last. */
bool trusts_take_change(struct trusts *trusts);

struct trust_view {
	struct name name;
	struct str content;
	struct str terms; /* as text; absent: there are none */
};
/* Those with users, in an order that does not change; NULL: that was the last. `after` NULL: the first. */
const struct trust_view *trusts_next(const struct trusts *trusts, const struct trust_view *after);

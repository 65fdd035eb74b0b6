// SPDX-License-Identifier: Apache-2.0
/*
 * Taking the place of another proxy (--take-over) so that no request fails. Until ours is told to start, the other one serves alone; from then on both
 * take connections out of the same sockets; and when ours has been heard everywhere, the other one drains and ends.
 *
 *   NONE <--nobody is there-- look --it listens--> PENDING --take_over_finish(), take_over_leave()--> NONE
 *                                                  PENDING --it is gone--> NONE
 */
#pragma once

#include "provider-supervisor/listeners.h"

#include <stdbool.h>

struct take_over;

/* `dir`: the folder of the other one; NULL or empty: nobody is to be looked for. `own_dir`: ours, which is none to take over. Both are kept. */
struct take_over *take_over_new(const char *dir, const char *own_dir);
void take_over_free(struct take_over *take_over);

bool take_over_is_pending(const struct take_over *take_over);
/* False, and it is not pending any more: the other one has gone meanwhile. */
bool take_over_is_there(struct take_over *take_over);
/* The sockets of the other one as they are now, or none; the caller calls listeners_fini(). */
void take_over_fetch(struct take_over *take_over, struct listeners *ret_listeners);
/* Has the provider of the other one leave the translator, which speaks to one provider at a time, to ours: for TAKE_OVER_YIELD_S. -ETIMEDOUT: it has
 * been asked for so long that ours will never serve. */
enum { TAKE_OVER_YIELD_S = 5 };
int take_over_ask(struct take_over *take_over);
/* Ours serves: tells the other one, in the name of `kind`. */
void take_over_finish(struct take_over *take_over, const char *kind);
/* Ours serves, and has nothing that the other one had: both stay. */
void take_over_leave(struct take_over *take_over);

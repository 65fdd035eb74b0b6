// SPDX-License-Identifier: Apache-2.0
/*
 * Taking over from another proxy (--take-over) so that no request fails. Until ours is told to start, the other one serves alone; from then on
 * both accept connections from the same sockets; once ours has answered on every listener, the other one drains and ends.
 *
 *   NONE <--nobody is there-- look --it listens--> PENDING --take_over_finish(), take_over_leave()--> NONE
 *                                                  PENDING --it is gone--> NONE
 */
#pragma once

#include "provider-supervisor/listeners.h"

#include <stdbool.h>

struct take_over;

/* `dir`: the folder of the other one; NULL or empty: there is none to look for. `own_dir`: ours, which is never taken over. Both are kept. */
struct take_over *take_over_new(const char *dir, const char *own_dir);
void take_over_free(struct take_over *take_over);

bool take_over_is_pending(const struct take_over *take_over);
/* False: the other one has gone meanwhile, and the take-over is no longer pending. */
bool take_over_is_there(struct take_over *take_over);
/* The sockets of the other one as they are now, or none; the caller calls listeners_fini(). */
void take_over_fetch(struct take_over *take_over, struct listeners *ret_listeners);
/* Asks the other one's provider to leave the translator, which accepts one provider at a time, to ours for TAKE_OVER_YIELD_S. -ETIMEDOUT: it has
 * been asked for so long that ours will never serve. */
enum { TAKE_OVER_YIELD_S = 5 };
int take_over_ask(struct take_over *take_over);
/* Ours serves: notifies the other one, in the name of `kind`. */
void take_over_finish(struct take_over *take_over, const char *kind);
/* Ours serves, and has nothing that the other one had: both stay. */
void take_over_leave(struct take_over *take_over);

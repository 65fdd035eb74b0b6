// SPDX-License-Identifier: Apache-2.0
/*
 * Finds the pieces of a configuration that nginx refuses, by bisection. No I/O: the caller asks bisect_next() what to try, tries it, and
 * reports the result with bisect_told().
 *
 * Pieces are added in turn to what is known to be good: a group that is refused together with it is halved until one piece is left, which is
 * left out. So of pieces that fail only together one is lost, and k bad ones of n cost about k * log2(n) tries.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct bisect;

/* `may_go[i]`: piece i may be left out; copied. */
struct bisect *bisect_new(size_t count, const bool *may_go);
void bisect_free(struct bisect *bisect);

/* What to try next: is_out[i] for each piece, valid until the next call. NULL: it is finished. */
const bool *bisect_next(struct bisect *bisect);
void bisect_told(struct bisect *bisect, bool is_good);
/* The pieces that are left out, once it is finished. NULL: the configuration is refused even without all that may go. */
const bool *bisect_result(const struct bisect *bisect);

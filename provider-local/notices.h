// SPDX-License-Identifier: Apache-2.0
/*
 * What owners should know although their load balancer works: notices by a key of whoever gives them, so that each is taken back by
 * the one that gave it. No I/O.
 */
#pragma once

#include "common/arena.h"
#include "proto/model.h"

enum { NOTICES_MAX = 4096 /* in one status; the rest is counted in the last one */ };

struct notices;

/* on_change() is called when the set has changed; may be NULL. */
struct notices *notices_new(void (*on_change)(void *ctx), void *ctx);
void notices_free(struct notices *notices);

/* Makes this the notice of (topic, key); texts are copied. */
void notices_set(
	struct notices *notices, const char *topic, struct str key, const struct lb_notice *given);
void notices_clear(struct notices *notices, const char *topic, struct str key);
/* Takes back all of a topic that begin with the key. */
void notices_clear_all(struct notices *notices, const char *topic, struct str key_prefix);
/* All that stand, as a list for struct lb_status; the texts live until the next change. */
size_t notices_list(
	const struct notices *notices, struct arena *arena, struct lb_notice **ret_notices);

// SPDX-License-Identifier: Apache-2.0
/*
 * How nginx connects to pools: the lines of a pool's row with protocol, CA and client certificate, and the rows `client:`. While nginx has not
 * loaded a new CA, the row differs from what is wanted: connections are made as before. No I/O.
 */
#pragma once

#include "common/arena.h"
#include "proto/model.h"
#include "provider-proxy/names.h"
#include "provider-proxy/rows.h"
#include "provider-nginx/trusts.h"

/* For all pools. */
struct speaker;
struct spoken;

/* Of one pool; zero at first. */
struct speech {
	struct spoken *spoken; /* with TLS */
	uint8_t plain;         /* without TLS: 1 + protocol in its row; 0: none */
};

/* The rows must outlive it. */
struct speaker *speaker_new(struct rows *rows, bool has_system_ca);
void speaker_free(struct speaker *speaker);
struct trusts *speaker_trusts(struct speaker *speaker);
/* Whether some pools wait for nginx to know a CA. */
bool speaker_is_waiting(const struct speaker *speaker);

/* The lines of the row that say what is spoken: what is wanted, or as long as nginx does not know the CA what was before. Absent: nobody
 * can be spoken to, for now or, with *ret_problem, for ever. `name` is the pool's. */
struct str speech_settle(struct speaker *speaker, struct speech *speech, const struct name *name,
	const struct pool *pool, struct arena *arena, struct str *ret_problem);
/* It waited, and what it waited for is there. */
bool speech_can_change(const struct speaker *speaker, const struct speech *speech);
/* The pool is gone, and its rows `client:` with it. */
void speech_drop(struct speaker *speaker, struct speech *speech, const struct name *name,
	struct arena *arena);
/* Only frees. */
void speech_fini(struct speech *speech);

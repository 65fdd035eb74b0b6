// SPDX-License-Identifier: Apache-2.0
/*
 * Texts with values of the request in them, as annotations have them: `/v2${path-rest}`, `https://www.example.com$1`. A text is parsed once into the
 * pieces of PROTOCOL.md; nothing in it has any other meaning to a proxy. Pure.
 *
 *   $0 ... $9           what the group of the rule's regular expression matched; $0: all of it
 *   ${NAME}             scheme, host, host-header, port, method, path, path-rest, query, arguments, target,
 *                       target-escaped, client, request-id
 *   ${header:NAME}      a header of the request; likewise ${cookie:NAME} and ${argument:NAME}
 *   $$                  a dollar sign
 *
 * Everything else is printable ASCII as it is.
 */
#pragma once

#include "common/arena.h"
#include "proto/model.h"

/* As in PROTOCOL.md. */
enum { PIECES_COUNT_MAX = 64, PIECES_TEXT_MAX_LEN = 2048, PIECES_NAME_MAX_LEN = 256 };

struct pieces {
	LIST_OF(struct piece) list; /* in the arena */
	bool has_groups;
	const char *problem; /* NULL: it is good so far */
};

/* NULL and the pieces, or an error message. An empty text has none. */
const char *pieces_parse(struct str text, struct arena *arena, struct pieces *ret);

/* For grammars of other dialects: they add to zeroed ones. What does not fit any more becomes the problem. */
void pieces_add_text(struct pieces *t, struct arena *arena, struct str text);
void pieces_add_group(struct pieces *t, struct arena *arena, unsigned group);
/* `name`: of a header, a cookie or an argument. */
void pieces_add_value(
	struct pieces *t, struct arena *arena, enum request_value value, struct str name);

/* Whether it can be the name of a header: a token (RFC 9110, section 5.6.2). */
bool pieces_is_token(struct str name);

// SPDX-License-Identifier: Apache-2.0
/*
 * Diagnostics: what the owner of an Ingress did wrong, or should know. They are data, not errors of
 * this program: the modules that find them carry on with everything else, and the process reports
 * each as a Warning Event on the Ingress.
 *
 * Texts are allocated in the list's arena. With a NULL list diagnostics are dropped, and nothing is
 * formatted.
 */
#pragma once

#include "common/arena.h"
#include "proto/model.h"

enum {
	DIAG_QUOTE_MAX_LEN = 64,    /* of an untrusted value that is quoted */
	DIAG_MESSAGE_MAX_LEN = 900, /* an Event's note holds 1024 bytes */
	DIAG_PER_INGRESS_MAX = 20,  /* in one list; the rest is counted */
};

struct diag {
	struct object_ref ingress;
	struct str reason;  /* CamelCase */
	struct str message; /* "spec.tls[0].secretName: ..." */
};

struct diag_list {
	struct arena *arena;
	struct diag *items;
	size_t count;
};

void diag_list_init(struct diag_list *list, struct arena *arena);
/* `field` is the API path of the field at fault; NULL if there is none. */
[[gnu::format(printf, 5, 6)]] void diag_add(struct diag_list *list,
	const struct object_ref *ingress, const char *reason, const char *field, const char *format,
	...);
/* Sorts, drops duplicates, and keeps DIAG_PER_INGRESS_MAX for each Ingress, the last of which says
 * how many more there are. So the result does not depend on the order in which they were added. */
void diag_list_finish(struct diag_list *list);

/* The value for a message: quoted, shortened, with '?' for control characters. NUL-terminated. */
const char *diag_quote(struct arena *arena, struct str value);
/* The first `max` bytes of s at most, cut at a character boundary. */
struct str diag_cut(struct str s, size_t max);

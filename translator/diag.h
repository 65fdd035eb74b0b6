// SPDX-License-Identifier: Apache-2.0
/*
 * Diagnostics: what the owner of an Ingress did wrong, or should know. They are data, no errors of
 * ours: the modules that find them go on with everything else, and the process tells each as a
 * Warning Event on the Ingress.
 *
 * Texts are made in the list's arena. A NULL list is a listener who does not want to hear: nothing
 * is formatted.
 */
#pragma once

#include "common/arena.h"
#include "proto/model.h"

enum {
	DIAG_QUOTE_MAX_LEN = 64,    /* of a foreign value that is shown */
	DIAG_MESSAGE_MAX_LEN = 900, /* an Event's note holds 1024 bytes */
	DIAG_PER_INGRESS_MAX = 20,  /* of one list; the rest is counted */
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
/* `field` names the part of the Ingress, as a path of its API; NULL when no part of it is to blame.
 */
[[gnu::format(printf, 5, 6)]] void diag_add(struct diag_list *list,
	const struct object_ref *ingress, const char *reason, const char *field, const char *format,
	...);
/* Sorts, drops repetitions, and keeps DIAG_PER_INGRESS_MAX of each Ingress, the last of which says
 * how many more there are. So the result does not depend on the order of adding. */
void diag_list_finish(struct diag_list *list);

/* The value in quotes, shortened, control characters shown as '?': for messages. Ends in NUL. */
const char *diag_quote(struct arena *arena, struct str value);
/* At most max bytes of s, cut between characters. */
struct str diag_cut(struct str s, size_t max);

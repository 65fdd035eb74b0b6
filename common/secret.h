// SPDX-License-Identifier: Apache-2.0
/*
 * struct secret: a token, a password or a key in memory. It is wiped when it is replaced or freed,
 * has no formatter, and is never copied into an arena or a log line.
 */
#pragma once

#include "common/str.h"

enum { SECRET_LEN_MAX = 64 * 1024 };

struct secret {
	char *text; /* NUL behind it; NULL when unset */
	size_t len;
};

void secret_fini(struct secret *s);
/* Copies text; -EMSGSIZE over SECRET_LEN_MAX. */
[[nodiscard]] int secret_set(struct secret *s, struct str text);
/* The whole file up to its end, white space at both ends removed. -ENODATA when
 * nothing is left, -EMSGSIZE over SECRET_LEN_MAX, else the error of open or read. The old value
 * stays on failure. */
[[nodiscard]] int secret_load_file(struct secret *s, const char *path);
/* In time that does not depend on where they differ. */
bool secret_eq(const struct secret *a, const struct secret *b);

static inline bool secret_is_set(const struct secret *s)
{
	return s->text != NULL;
}

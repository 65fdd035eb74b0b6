// SPDX-License-Identifier: Apache-2.0
/*
 * The last line of files that are written whole: a comment for the proxy, and for us the proof that nothing of the file is missing or other
 * than it was written. It guards against a torn disk and a slip of a hand, not against somebody who wants to deceive.
 */
#pragma once

#include "common/buf.h"

#include <stdbool.h>
#include <sys/types.h>

/* Appends the line, over what was appended since `from`. -EMSGSIZE. */
[[nodiscard]] int checksum_append(struct buf *out, size_t from);
/* files_write() with the line behind the content. */
int checksum_write(const char *path, struct str content, mode_t mode);
/* Whether the text ends in its line, which is then taken off. */
bool checksum_take(struct str *text);
/*
 * Appends the content of such a file, without the line. NULL, or what is wrong with the file, as the rest of a sentence whose subject it is: missing,
 * empty, not ours, not as it was written. Static; nothing is appended then.
 */
const char *checksum_read(const char *path, struct buf *out);

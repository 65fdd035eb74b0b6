// SPDX-License-Identifier: Apache-2.0
/*
 * The last line of files that are written whole: to the proxy a comment, to us the proof that the file is complete and unchanged. It guards
 * against torn writes and accidental edits, not against deliberate forgery.
 */
#pragma once

#include "common/buf.h"

#include <stdbool.h>
#include <sys/types.h>

/* Appends the line, computed over what was appended since `from`. -EMSGSIZE. */
[[nodiscard]] int checksum_append(struct buf *out, size_t from);
/* files_write() with the line after the content. */
int checksum_write(const char *path, struct str content, mode_t mode);
/* files_write_loose() likewise. */
int checksum_write_loose(const char *path, struct str content, mode_t mode);
/* Whether the text ends in its line, which is then removed. */
bool checksum_take(struct str *text);
/*
 * Appends the content of such a file, without the line. NULL, or what is wrong (missing, empty, not ours, not as it was written), as the rest of
 * a sentence whose subject is the file. Static; nothing is appended then.
 */
const char *checksum_read(const char *path, struct buf *out);

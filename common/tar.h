// SPDX-License-Identifier: Apache-2.0
/*
 * Regular files as a tar archive (POSIX.1-1988 ustar; names longer than 100 bytes as GNU tar has them): how a program hands several files to the next one in a pipe,
 * in an order. What is read may come from anybody, and is looked at once.
 */
#pragma once

#include "common/str.h"

#include <stdio.h>

/* Appends a file of mode 0600. 0, or -1 with errno. */
int tar_write(FILE *out, const char *name, struct str content);
/* The end of the archive; likewise. */
int tar_end(FILE *out);

enum tar_outcome { TAR_FILE, TAR_END, TAR_BAD };

enum { TAR_NAME_LEN_MAX = 4096 };

struct tar_file {
	struct str name; /* both are views of the archive */
	struct str content;
};

/* Takes the next regular file off the front; others are passed over. */
enum tar_outcome tar_next(struct str *archive, struct tar_file *ret_file);

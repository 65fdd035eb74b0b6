// SPDX-License-Identifier: Apache-2.0
/* How far something is that takes longer than people wait: a line on their terminal, written anew each second, and gone at the end. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct progress {
	const char *what;
	double next_s; /* when it is told next */
	bool is_shown;
	bool is_wanted; /* standard error is a terminal */
};

void progress_begin(struct progress *progress, const char *what);
/* `total` 0: not known. */
void progress_tell(struct progress *progress, size_t done, size_t total);
void progress_end(struct progress *progress);

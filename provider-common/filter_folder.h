// SPDX-License-Identifier: Apache-2.0
/*
 * The folder that a provider as a filter writes to, and the sandbox in which it does so. The folder is made before anything is read, because from within
 * the sandbox it can be written to, but no folder can be made beside it; if nothing is written after all, it is taken away again.
 */
#pragma once

#include "common/sandbox.h"

struct filter_folder {
	char *path; /* NULL: nothing is written to a folder */
	char *made; /* the first of it and its parents that was not there; NULL: all were */
};

/* `path`: NULL or "-": there is none. 0 or a negative errno; finish it in any case. */
int filter_folder_make(struct filter_folder *folder, const char *path);
/* Removes what was made, unless something stands in it. */
void filter_folder_undo(const struct filter_folder *folder);
void filter_folder_fini(struct filter_folder *folder);

/* It allows descriptors that are open, and the folder. The caller enters or frees it. */
struct sandbox *filter_folder_confine(const struct filter_folder *folder);

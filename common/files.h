// SPDX-License-Identifier: Apache-2.0
/*
 * Files of the state folder: whole or not at all. A file is written under another name in the same folder, synced, renamed over the
 * old one, and the folder is synced; so a crash leaves the old or the new content. Results are 0 or a negative errno; what was there
 * stays on failure.
 */
#pragma once

#include "common/buf.h"

#include <stdbool.h>
#include <sys/types.h>

/* Makes the folder with this mode, with its parents (0755); one that exists gets the mode. -ENOTDIR: something else is there. */
int files_make_dir(const char *path, mode_t mode);
/* Content that is equal to what stands there already is not written again. */
int files_write(const char *path, struct str content, mode_t mode);
/* Without the syncs: for what can be made anew. */
int files_write_loose(const char *path, struct str content, mode_t mode);
/* Appends the content to `out`; -EMSGSIZE when it does not fit. */
int files_read(const char *path, struct buf *out);
/* Likewise of a file that has to be there and to be ours. NULL, or what is wrong, as the rest of a sentence whose subject the file is; static. */
const char *files_read_own(const char *path, struct buf *out);
/* Also when it does not exist: 0. */
int files_remove(const char *path);
bool files_exist(const char *path);
/* Tells a folder from another one that has taken its name. 0 or a negative errno. */
struct files_identity {
	dev_t device;
	ino_t inode;
};
int files_identify(const char *path, struct files_identity *ret_identity);
/* In words for a person: what stops us and what to do, such as "the disk is full". Static. */
const char *files_problem(int err);
/* Removes what an interrupted files_write() left in the folder. */
void files_clean(const char *dir);
/* Removes the files in the folder whose names end in `.sock`. */
void files_remove_sockets(const char *dir);

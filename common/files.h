// SPDX-License-Identifier: Apache-2.0
/*
 * Files of the state folder, written atomically. A file is written under another name in the same folder, synced, renamed over the
 * old one, and the folder is synced; so a crash leaves the old or the new content. Results are 0 or a negative errno; what was there
 * stays on failure.
 */
#pragma once

#include "common/buf.h"

#include <stdbool.h>
#include <sys/types.h>

/* Creates the folder with this mode, and its parents (0755); an existing one gets the mode. -ENOTDIR: something else is there.
 */
int files_make_dir(const char *path, mode_t mode);
/* Does not write if the file has this content already. */
int files_write(const char *path, struct str content, mode_t mode);
/* Without the syncs: for files that can be regenerated. */
int files_write_loose(const char *path, struct str content, mode_t mode);
/* What files_write_loose() has left out, of a file or a folder: of many files at once the folder has to be synced only once. */
int files_sync(const char *path);
/* Appends the content to `out`; -EMSGSIZE when it does not fit. Without a descriptor for it the process ends (descriptors.h): a file that
 * cannot be opened for that must not be taken for a missing or damaged one. */
int files_read(const char *path, struct buf *out);
/* The same for an open one, from where it stands to its end. */
int files_read_fd(int fd, struct buf *out);
/* Likewise for a file that must exist and belong to us. NULL, or a static error message that completes a sentence beginning with the file's name.
 */
const char *files_read_own(const char *path, struct buf *out);
/* 0 also if it does not exist. */
int files_remove(const char *path);
bool files_exist(const char *path);
/* A descriptor that stands for the folder as long as the caller keeps it open, and tells it from another one that takes its name: without one, the other may
 * have its inode number, too. Or a negative errno. */
int files_hold_folder(const char *path);
/* Whether another folder has the name now; not while none has it. */
bool files_is_replaced(int folder, const char *path);
/* Whether it may not be read, by its mode or by a sandbox; false if there is none. */
bool files_is_denied(const char *path);
/* For people: what the problem is, such as "the disk is full". Static. */
const char *files_problem(int err);
/* Removes those of the folder's files that are loose; returns how many. */
size_t files_sweep(const char *dir, bool (*is_loose)(void *ctx, struct str name), void *ctx);
/* Removes what an interrupted files_write() left in the folder. */
void files_clean(const char *dir);
/* Removes the files in the folder whose names end in `.sock`. */
void files_remove_sockets(const char *dir);

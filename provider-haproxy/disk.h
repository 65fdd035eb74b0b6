// SPDX-License-Identifier: Apache-2.0
/* The files of the state folder: where they are, when they are written, and what happens when the disk cannot be written. */
#pragma once

#include "provider-haproxy/slots.h"
#include "provider-proxy/local.h"
#include "provider-proxy/rowfile.h"

/* Endpoints and weights are in HAProxy at once, and on the disk within this time. */
enum { DISK_LATE_S = 10 };

struct disk;

/* Makes the folders; NULL and *ret_problem in words (allocated) when that fails. `on_due`: the files are to be written now. */
struct disk *disk_new(const struct local_options *options, struct local *local,
	void (*on_due)(void *ctx), void (*on_late)(void *ctx), void *ctx, char **ret_problem);
void disk_free(struct disk *disk);

int disk_make_folders(const struct disk *disk);
/* The script of lua_off.h, if it is not there; *ret_problem then says what was wrong, else NULL. */
int disk_write_script(const struct disk *disk, const char **ret_problem);
int disk_write_group(const struct disk *disk, struct group *group);
/* To be freed by the caller. */
char *disk_group_path(const struct disk *disk, size_t number);
struct rowfile *disk_map(const struct disk *disk, enum row_table table);
/* Of the table's file, in the state folder. */
const char *disk_map_name(enum row_table table);
/* The main file refers to these, not to those of a former release. */
bool disk_has_maps(struct str main_file);
/* Where a former release kept hosts and pools. */
#define DISK_FORMER_MAP "maps/whole.map"
void disk_remove_former_maps(const struct disk *disk);
/* Syncs the maps that are there, and writes the others; `is_whole`: writes all. */
int disk_write_maps(const struct disk *disk, bool is_whole);
/* Stores what is wanted of the row. A failure has been reported. */
int disk_put_row(struct disk *disk, struct row *row);
/* Removes what an HAProxy that had its sockets in the state folder has left there, unless ours has them there, too. */
void disk_remove_former(const struct disk *disk, const char *proxy_dir);
/* The sockets are not in the state folder. */
bool disk_has_proxy_folder(const struct disk *disk);

/* The files are to be written soon, see flush.h. */
void disk_want_flush(struct disk *disk);
/* Within DISK_LATE_S: then comes `on_late`. */
void disk_want_late_flush(struct disk *disk);
bool disk_is_flush_needed(const struct disk *disk);
/* All files are written. */
void disk_flushed(struct disk *disk);
/* What is to be written waits for so long. */
void disk_put_off(struct disk *disk, double pause_s);

void disk_failed(struct disk *disk, int err, const char *what);
void disk_worked(struct disk *disk);
bool disk_has_failed(const struct disk *disk);
/* The disk works, or it is time to try it again. */
bool disk_may_store(struct disk *disk);

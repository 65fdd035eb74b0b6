// SPDX-License-Identifier: Apache-2.0
/* The files of the state folder: where they are, and what happens when the disk cannot be written. */
#pragma once

#include "provider-haproxy/engine_state.h"

int disk_make_folders(const struct engine *engine);
int disk_write_group(struct engine *engine, struct group *group);
/* To be freed by the caller. */
char *disk_group_path(const struct engine *engine, size_t number);
/* Removes what an HAProxy that had its sockets in the state folder has left there. */
void disk_remove_former(const struct engine *engine);
/* The sockets are not in the state folder. */
bool disk_has_proxy_folder(const struct engine *engine);
/* The files are to be written soon, see flush.h. */
void disk_want_flush(struct engine *engine);
void disk_failed(struct engine *engine, int err, const char *what);
void disk_worked(struct engine *engine);

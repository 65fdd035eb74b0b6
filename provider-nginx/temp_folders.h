// SPDX-License-Identifier: Apache-2.0
/* Where nginx's workers put a body that is too large for memory: below the state folder, on disk. nginx makes each of these folders when it starts
 * or is checked, at the place where it was built to, unless its configuration names them. */
#pragma once

#include <sys/types.h>

#define TEMP_FOLDER "temp"

enum { TEMP_FOLDER_COUNT = 5 };

/* Below the state folder; nginx.conf.tmpl names each of them. */
extern const char *const temp_folders[TEMP_FOLDER_COUNT];

/* Makes them for that user, to whom each belongs alone, or with (uid_t)-1 for us. 0 or a negative errno; what can be made is made. */
int temp_folders_make(const char *state_dir, uid_t user);

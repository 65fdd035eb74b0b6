// SPDX-License-Identifier: Apache-2.0
/* Users in options, by name or number. */
#pragma once

#include "common/options.h"

#include <sys/types.h>

/* Looks the users of a list up. NULL, or what is wrong with option --`name` (the caller frees it): there are more than `max`, or there is no such
 * user. */
char *users_read(const char *name, const struct option_list *list, size_t max, uid_t *ret_uids);

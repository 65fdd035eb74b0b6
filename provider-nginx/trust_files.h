// SPDX-License-Identifier: Apache-2.0
/* The files of the CAs that nginx.conf names, in the folder `trust` of the state folder. They are named by the digest of their content, so they never change. */
#pragma once

#include "provider-nginx/trusts.h"

/* Writes those that are missing; 0 or a negative errno. */
int trust_files_write(const char *state_dir, const struct trusts *trusts);
/* Removes those that nobody uses. For when nginx runs with nothing else. */
void trust_files_sweep(const char *state_dir, const struct trusts *trusts);

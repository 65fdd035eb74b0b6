// SPDX-License-Identifier: Apache-2.0
/* The folders of nginx's sockets, and of what it starts from. */
#pragma once

#include "provider-proxy/local.h"
#include "provider-nginx/config.h"

/* Makes those that are not there; NULL, or what is wrong in words (allocated). */
char *folders_make(const struct local *local, const struct config *config);
/* Workers of another user pass through both folders to the sockets in `hop` and to the folders of bodies; nobody else reaches anything. */
mode_t folders_mode(void);
/* Logs that a file in them is damaged. */
void folders_tell_damage(const char *path, const char *problem);
/* Whether that configuration names sockets in the state folder, as without --proxy-dir, though there is another folder now. */
bool folders_are_former(const struct local *local, const struct config *config, struct str conf);

// SPDX-License-Identifier: Apache-2.0
/*
 * The main file of HAProxy's configuration: as it is wanted, and as it was installed last. Only a file that HAProxy has checked is installed.
 */
#pragma once

#include "provider-haproxy/render.h"

struct main_file;

struct main_file *main_file_new(void);
void main_file_free(struct main_file *file);

/* Something has changed that the text depends on. */
void main_file_set_stale(struct main_file *file);
/* Whether it has to be made anew. `has_default`: there is a default certificate now. */
bool main_file_is_stale(const struct main_file *file, bool has_default);
/* Reads --trusted-certificates. True if its content has changed. *ret_problem: why it cannot be used (allocated), or NULL. */
bool main_file_read_trusted(struct main_file *file, const char *path, char **ret_problem);
/* Makes the text anew. The digest of the trusted certificates is added to `input`. */
void main_file_make(struct main_file *file, struct render_input input);
struct str main_file_text(const struct main_file *file);
/* As render_main() has it. */
const char *main_file_description(const struct main_file *file);

bool main_file_is_installed(const struct main_file *file);
/* Empty when none is installed. */
struct str main_file_installed(const struct main_file *file);
/* The text that was made last has been put in its place. */
void main_file_set_installed(struct main_file *file);
/* Reads the one that is installed, once, at the start. NULL, or what is wrong as checksum_read() has it. */
const char *main_file_read_installed(struct main_file *file, const char *path);

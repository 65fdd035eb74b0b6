// SPDX-License-Identifier: Apache-2.0
/*
 * The file of --trusted-certificates, which the proxy reads when it loads its configuration. The configuration contains the file's digest, so
 * that new content is a new configuration.
 */
#pragma once

#include <stdint.h>

/* NULL and *ret_digest, never 0; or why the file cannot be used (allocated), and *ret_digest is untouched. */
char *trusted_file_read(const char *path, uint64_t *ret_digest);

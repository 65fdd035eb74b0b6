// SPDX-License-Identifier: Apache-2.0
/*
 * The file of --trusted-certificates, which the proxy reads when it is loaded: its digest stands in the proxy's configuration, so that
 * another content is another configuration.
 */
#pragma once

#include <stdint.h>

/* NULL and *ret_digest, never 0; or why the file is no good (allocated), and *ret_digest stays. */
char *trusted_file_read(const char *path, uint64_t *ret_digest);

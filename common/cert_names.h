// SPDX-License-Identifier: Apache-2.0
/* The host names of a certificate. Used by cert.c alone; its callers want cert.h. */
#pragma once

#include "common/arena.h"

#include <openssl/x509.h>

/* Names as struct cert_info holds them. NULL, or an error message. */
const char *cert_names_read(
	const X509 *leaf, struct arena *arena, struct str **ret_names, size_t *ret_count);

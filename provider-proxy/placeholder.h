// SPDX-License-Identifier: Apache-2.0
/*
 * A certificate that nobody trusts: for clients whose server name matches none of ours, where the proxy needs one before it can choose; and in
 * place of one that is damaged, until the right one is known.
 */
#pragma once

#include "provider-proxy/names.h"

/* Writes a file, with a checksum as its last line, of a new key and its self-signed certificate for `sluice.invalid`, in PEM. 0 or a negative errno;
 * -EIO also when OpenSSL fails. */
int placeholder_write(const char *path);
/* What is wrong with a file of a CA or a client certificate, which is named by its content, as the rest of a sentence whose subject is the file; static.
 * NULL: nothing, or *ret_is_placeholder. */
const char *placeholder_find_problem(
	const char *path, const struct name *name, bool *ret_is_placeholder);

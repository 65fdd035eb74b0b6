// SPDX-License-Identifier: Apache-2.0
/*
 * PEM files of an HTTP client, read whole and checked before they replace earlier ones: a half-written, empty or wrong file is
 * reported by name, instead of making every handshake fail. Results are allocated; the caller must wipe keys (pem_free()). A problem
 * is allocated too, and begins with the file's name.
 */
#pragma once

#include <stdbool.h>

enum { PEM_FILE_LEN_MAX = 4 * 1024 * 1024 };

/* Any number of certificates, at least one. */
char *pem_read_authorities(const char *path, char **ret_pem);
/* A certificate, more behind it if there are, and its key. Of each either the text is given, which *ret_x is then a copy of, or the path. */
struct pem_pair {
	const char *cert;
	const char *cert_path;
	const char *key;
	const char *key_path;
};
char *pem_read_pair(const struct pem_pair *pair, char **ret_cert, char **ret_key);
/* Wipes first; NULL is fine. */
void pem_free(char *text);

// SPDX-License-Identifier: Apache-2.0
/*
 * Certificate files: chain and key in one PEM file, mode 0600, in a folder of mode 0700. A certificate object gives one file for each
 * group of at most PEM_HOSTS_MAX server names that it is presented for. The file's name identifies the object and the names, so a file
 * is always presented for the same names, and new names give a new file beside the old one.
 */
#pragma once

#include "common/buf.h"
#include "proto/model.h"
#include "provider-proxy/names.h"

enum {
	PEM_HOSTS_MAX = 32,
	PEM_NAME_LEN = NAME_LEN + 1 + 16 + 4, /* c<16>-<16 hex>.pem */
	PEM_LEN_MAX = 2 * 1024 * 1024,
};

struct pem_name {
	char text[PEM_NAME_LEN + 1];
};

/* For the group of server names hosts[first .. first + PEM_HOSTS_MAX - 1]. */
struct pem_name pem_name_of(const struct certificate *certificate, size_t first);
/* Appends the file's content: PEM blocks of the chain, then the key, with nothing between the blocks and without empty lines.
 * -EBADMSG when it is not PEM. */
int pem_content(const struct certificate *certificate, struct buf *out);
/* Appends the blocks of a PEM text in the same way. */
[[nodiscard]] int pem_blocks(struct str pem, struct buf *out);
/* Whether it has the form of such a name. */
bool pem_is_file_name(struct str name);

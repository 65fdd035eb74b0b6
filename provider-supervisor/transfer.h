// SPDX-License-Identifier: Apache-2.0
/*
 * The two ways in which a starting proxy gets listening sockets that are already open. No I/O.
 *
 * HAProxy asks for them (`-x SOCKET`, as when one HAProxy replaces another): it sends TRANSFER_REQUEST and receives the number of sockets as
 * a C int, then messages with at most TRANSFER_BATCH_MAX descriptors (SCM_RIGHTS) and a record for each: a length byte and the name of a
 * network namespace, the same for an interface, and an unused C int. It acknowledges each message with a C int.
 *
 * nginx inherits them, with their numbers in the variable NGINX, as when its binary is upgraded.
 */
#pragma once

#include "common/buf.h"

#include <stdbool.h>

#define TRANSFER_REQUEST "_getsocks\n"

enum {
	TRANSFER_SOCKETS_MAX = 8192, /* of one proxy */
	TRANSFER_BATCH_MAX = 253,    /* what the kernel takes at once */
	TRANSFER_NAME_MAX = 255,     /* what a length byte can hold */
	TRANSFER_RECORD_MAX = 2 + 2 * TRANSFER_NAME_MAX + (int)sizeof(int),
};

/* Records of so many sockets, without namespace and interface. At most TRANSFER_BATCH_MAX. */
void transfer_add_records(struct buf *out, size_t count);
/* Whether the bytes are so many records, and nothing else. */
bool transfer_are_records(struct str bytes, size_t count);
/* The value of NGINX for so many descriptors that begin with `first`: "3;4;". The caller frees it. */
char *transfer_nginx_variable(int first, size_t count);

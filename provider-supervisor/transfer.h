// SPDX-License-Identifier: Apache-2.0
/*
 * The two ways in which a proxy that starts gets listening sockets which are open already, without I/O.
 *
 * HAProxy asks for them (`-x SOCKET`, as one asks another before it takes its place): it sends TRANSFER_REQUEST and gets the number of
 * sockets as a C int, then messages with at most TRANSFER_BATCH_MAX descriptors (SCM_RIGHTS) and a record for each: a byte of length and the
 * name of a network namespace, likewise that of an interface, and a C int of no meaning. It answers each message with a C int.
 *
 * nginx has them from the start, and their numbers in the variable NGINX, as when its program is replaced.
 */
#pragma once

#include "common/buf.h"

#include <stdbool.h>

#define TRANSFER_REQUEST "_getsocks\n"

enum {
	TRANSFER_SOCKETS_MAX = 8192, /* of one proxy */
	TRANSFER_BATCH_MAX = 253,    /* what the kernel takes at once */
	TRANSFER_NAME_MAX = 255,     /* what a byte of length can say */
	TRANSFER_RECORD_MAX = 2 + 2 * TRANSFER_NAME_MAX + (int)sizeof(int),
};

/* Records of so many sockets, without namespace and interface. At most TRANSFER_BATCH_MAX. */
void transfer_add_records(struct buf *out, size_t count);
/* Whether the bytes are so many records, and nothing else. */
bool transfer_are_records(struct str bytes, size_t count);
/* The value of NGINX for so many descriptors that begin with `first`: "3;4;". The caller frees it. */
char *transfer_nginx_variable(int first, size_t count);

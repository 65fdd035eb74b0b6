// SPDX-License-Identifier: Apache-2.0
/* The opening handshake of a WebSocket (RFC 6455, section 4.1) as text: the request, and the check of the answer. No I/O. */
#pragma once

#include "common/ws.h"

struct ws_upgrade;

/* Appends the request to `out`, which must be large enough for the URL and headers given. */
struct ws_upgrade *ws_upgrade_new(const struct ws_call *call, struct buf *out);
void ws_upgrade_free(struct ws_upgrade *upgrade);
/* NULL and *ret_head_len == 0: more is needed. NULL and a length: the upgrade is done. Otherwise what is wrong; *ret_status is then the
 * status if one was read. */
const char *ws_upgrade_check(const struct ws_upgrade *upgrade, struct str answer,
	size_t *ret_head_len, long *ret_status);
/* ws:// to http://, wss:// to https://; the caller frees it. */
char *ws_upgrade_http_url(const char *url);

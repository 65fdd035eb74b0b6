// SPDX-License-Identifier: Apache-2.0
/* The opening handshake of a WebSocket (RFC 6455, section 4.1) as text: the request, and the check of the answer. No I/O. */
#pragma once

#include "common/buf.h"

#include <curl/curl.h>

enum { WS_ACCEPT_LEN = 28 };

struct ws_upgrade {
	char accept[WS_ACCEPT_LEN + 1]; /* what the server must answer to our key */
};

/* Makes a key and appends the request to `out`: the target of `url`, a Host line unless `headers` have one, then those. NULL, or
 * what is wrong. */
const char *ws_upgrade_write(struct ws_upgrade *upgrade, const char *url, const char *user_agent,
	const struct curl_slist *headers, struct buf *out);
/* NULL and *ret_head_len == 0: more is needed. NULL and a length: the upgrade is done. Otherwise what is wrong; *ret_status is then the
 * status if the server refused. */
const char *ws_upgrade_check(const struct ws_upgrade *upgrade, struct str answer,
	size_t *ret_head_len, long *ret_status);
/* ws:// to http://, wss:// to https://; the caller frees it. */
char *ws_upgrade_http_url(const char *url);

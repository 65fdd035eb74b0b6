// SPDX-License-Identifier: Apache-2.0
/*
 * Who may see the page of `web`. It listens on loopback, where every user of the machine, and every page in a browser on it, can connect:
 *
 * - the key in each path keeps out other users of the machine, and pages of others that guess our port; it is new at each start;
 * - the Host header keeps out pages of others whose name server turns their name to our address (DNS rebinding);
 * - Sec-Fetch-Site keeps out what pages of others have a browser ask for.
 *
 * No I/O but drawing the key.
 */
#pragma once

#include "common/admin_server.h"

enum {
	WEB_KEY_LEN = 32,     /* hexadecimal digits: 128 bits */
	WEB_ADDRESS_LEN = 63, /* of --listen */
};

struct web_guard {
	char key[WEB_KEY_LEN + 1];
	char host[WEB_ADDRESS_LEN + 1]; /* as in --listen, with its brackets, without the port */
	int port;
};

enum web_verdict {
	WEB_WELCOME,
	WEB_E_HOST, /* another name than ours, or none */
	WEB_E_SITE, /* on behalf of another site */
	WEB_E_KEY,
};

/* `address` is ADDRESS:PORT of --listen. False: it is not of this machine alone (127.0.0.0/8, ::1), or malformed. Draws the key. */
bool web_guard_init(struct web_guard *guard, const char *address);
/* *ret_path: what follows the key and its slash. */
enum web_verdict web_guard_check(
	const struct web_guard *guard, const struct admin_request *request, struct str *ret_path);

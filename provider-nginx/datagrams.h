// SPDX-License-Identifier: Apache-2.0
/* What nginx.conf says of ports for UDP: when sessions end, how many there may be, and that nothing is answered without an endpoint. No I/O. */
#pragma once

#include "provider-nginx/fronts.h"

/* How many sessions a worker may have at a time at each port of UDP, which all together have an eighth of its connections, two a session. */
int64_t datagrams_sessions(const struct conf *conf);
/* Of a port of UDP, or as conf_option_value(). */
struct str datagrams_value(const struct conf *conf, const struct port *port,
	enum nginx_conf_value name, struct template_text *text);
/* Likewise, or as fronts_block(); `pool` is that of the port, or NULL. */
bool datagrams_block(
	const struct fronts *fronts, const struct conf_pool *pool, enum nginx_conf_block block);

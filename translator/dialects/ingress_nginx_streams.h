// SPDX-License-Identifier: Apache-2.0
/* What the global options of ingress-nginx say of its ports for UDP: when a session ends. Pure. */
#pragma once

#include "translator/dialects/ingress_nginx_options.h"

/* NULL: the value can be used; of options that are none of these, any can. */
const char *nginx_streams_check(enum nginx_own own, struct str text);
/* Seconds without a datagram; `options` may be NULL, here and below. */
uint64_t nginx_streams_idle_s(const struct nginx_options *options);
/* Datagrams of the endpoint for each one of the client; 0: none is awaited. */
uint64_t nginx_streams_responses(const struct nginx_options *options);

// SPDX-License-Identifier: Apache-2.0
/*
 * What the global options of kubernetes/ingress-nginx say of proxies in front, and of what backends are told of clients: use-forwarded-headers, enable-real-ip,
 * use-proxy-protocol, proxy-real-ip-cidr, forwarded-for-header, compute-full-forwarded-for, generate-request-id. Pure.
 */
#pragma once

#include "translator/dialects/ingress_nginx_options.h"

/* As a load balancer has it, with views of the options. `options` may be NULL: all is as it is without a ConfigMap. */
struct forwarding nginx_forwarding_of(const struct nginx_options *options);
/* Whether listeners read the PROXY protocol. */
bool nginx_forwarding_reads_proxy(const struct nginx_options *options);
/* NULL, or what is wrong with the name of the header in words. */
const char *nginx_forwarding_check_header(struct str name);
/* Whether everybody who connects is believed about who he is. */
bool nginx_forwarding_trusts_all(const struct nginx_options *options);

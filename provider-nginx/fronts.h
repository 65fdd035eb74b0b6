// SPDX-License-Identifier: Apache-2.0
/* The blocks and values of nginx.conf.tmpl about proxies in front of a listener: who is believed about who the client is, and about what (trusted_proxies.h). No I/O. */
#pragma once

#include "provider-nginx/conf.h"
#include "provider-nginx/nginx_conf.tmpl.h"

/* A listener, for the functions here. */
struct fronts {
	const struct conf *conf;
	const struct port *port;
	bool has_hops; /* see conf_render.c */
};

/* Whether the block is there: one of those of proxies in front, or of conf_option_block(). */
bool fronts_block(const struct fronts *fronts, enum nginx_conf_block block);
/* As trusted_proxies_next() and trusted_proxies_next_front(). */
bool fronts_next_proxy(const struct fronts *fronts, size_t index, struct check_cidr *ret_network);
bool fronts_next(const struct fronts *fronts, size_t index, struct check_cidr *ret_network);
struct str fronts_client_header(const struct fronts *fronts);
/* A number of this name. */
unsigned fronts_number(const struct fronts *fronts, unsigned name);
/* Whether clients may have addresses that are none of who connects. */
bool fronts_name_others(const struct fronts *fronts);

// SPDX-License-Identifier: Apache-2.0
/* The values and blocks of nginx.conf.tmpl that the administrator decides: the same for all of it. No I/O. */
#pragma once

#include "provider-nginx/conf.h"
#include "provider-nginx/nginx_conf.tmpl.h"

/* Of a name that is an option's; valid as long as the options and `text`. */
struct str conf_option_value(
	const struct conf_options *options, enum nginx_conf_value name, struct template_text *text);
/* Likewise of a block: whether it is there. */
bool conf_option_block(const struct conf_options *options, enum nginx_conf_block block);

/* Of an upstream. For each request nginx compares the name that it goes to with those of all upstreams: first their lengths, then they from their beginning; so these
 * differ in the one or the other early. */
struct str conf_shard_name(struct template_text *text, size_t shard);

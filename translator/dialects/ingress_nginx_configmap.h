// SPDX-License-Identifier: Apache-2.0
/*
 * The ConfigMap with the global options of ingress-nginx, as options that can be relied on: each value is tried as an Ingress would use it, and what cannot be used is
 * left out alone, and told once, on the ConfigMap. Pure.
 */
#pragma once

#include "translator/dialects/ingress_nginx_options.h"

struct nginx_configmap {
	const struct config_map_record
		*map;   /* NULL: there is none; all options are as they are by themselves */
	struct str key; /* NAMESPACE/NAME of it */
	/* One that an option names, by NAMESPACE/NAME; NULL: there is none. */
	const struct config_map_record *(*find)(void *ctx, struct str key);
	void *ctx;
	const struct option_list *egress_hosts; /* see foreign_hosts.h; NULL: none */
	struct diag_list *diags;                /* NULL: nothing is told */
};

/* Everything is copied into the arena. */
void nginx_configmap_read(const struct nginx_configmap *source, struct arena *arena,
	struct nginx_options *ret_options);
/* Tells what differs from the original. */
void nginx_configmap_tell_verdicts(
	const struct config_map_record *map, struct arena *arena, struct diag_list *diags);

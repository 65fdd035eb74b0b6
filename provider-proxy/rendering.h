// SPDX-License-Identifier: Apache-2.0
/*
 * What rendering without a running proxy (provider-common/filter.h) needs, for either kind of proxy: rows, routes, notices and addresses, as local.h
 * has them while one runs. A provider embeds it, adds its own part, and shows files. Nothing is written, and no port is tried.
 */
#pragma once

#include "provider-common/filter.h"
#include "provider-proxy/local.h"

struct rendering {
	const struct filter_job *job;
	const struct local_options *options;
	struct arena arena; /* for the whole rendering */
	struct rows *rows;
	struct notices *notices;
	struct unserved *unserved;
	struct routes *routes; /* as the commit of the job has them */
	struct publish *publish;
	struct buf text; /* of the next file; wiped at the end */
};

/* Of struct provider_filter. */
void rendering_prepare(void);
/* Job, options and the writer, which may be NULL, must outlive it. NULL, or what is wrong with the addresses (allocated): then rendering_fini() is not to be called. */
char *rendering_init(struct rendering *rendering, const struct filter_job *job,
	const struct local_options *options, enum routes_form form,
	const struct route_writer *writer);
/* After everything that refers to its parts. */
void rendering_fini(struct rendering *rendering);

/* Hands `text` out as the file of that name, and empties it. */
void rendering_show(struct rendering *rendering, const char *name);
/* A file of a folder, of whatever content. */
void rendering_show_in(
	struct rendering *rendering, const char *folder, const char *name, struct str content);
/* Ports that one load balancer takes from another become notices. */
void rendering_tell_ports(struct rendering *rendering, const struct ports *ports);
/* All notices to owners. Once, at the end. */
void rendering_show_notices(struct rendering *rendering);

// SPDX-License-Identifier: Apache-2.0
/*
 * The rules of one virtual host as rows: those of pools, and those of routes, which the proxy's writer adds. Part of routes.c. No I/O.
 */
#pragma once

#include "common/buf.h"
#include "provider-proxy/notices.h"
#include "provider-proxy/route_writer.h"

struct host_job {
	struct arena *arena;
	struct buf *text; /* scratch, with room for all rules of a host as a message */
	enum routes_form form;
	bool names_owners;
	const struct route_writer *writer; /* NULL: rules with more than a pool are closed */
	struct notices *notices;
	struct name notice_key; /* what keys of its notices begin with */
	struct name name;       /* of the host */
	const struct virtual_host *value;
	bool has_paths; /* requests may have been looked up by the host's name; afterwards, whether they may be now */
	/* What comes of it: */
	struct str target; /* of the row of the host; lives in `arena` */
	bool has_notices;
	struct row_draft draft;
};

/* Adds the rows of all rules, and notices of those that cannot be had. */
void host_rows_collect(struct host_job *job);
/* Tells the owner of the rule. */
void host_rows_refuse(struct host_job *job, size_t index, const char *reason, struct str message);

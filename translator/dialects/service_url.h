// SPDX-License-Identifier: Apache-2.0
/*
 * URLs that name Services as a cluster does: http://NAME.NAMESPACE.svc:PORT/PATH, perhaps with .cluster.local behind svc. Nothing else can be asked by annotations, so
 * whatever holds for endpoints holds for these, too. Pure.
 */
#pragma once

#include "common/str.h"

#include <stdint.h>

struct service_url {
	struct str host; /* without port; may be anything, also a variable of another dialect */
	uint64_t port;   /* that of the scheme if none is given */
	bool is_https;
	struct str rest; /* path and query, as written: what follows the host */
};

/* Views of the text. False: it is no http or https URL with a host. What begins with a dollar sign ends the host, unless it is the host. */
bool service_url_parse(struct str text, struct service_url *ret);
/* False: the host is no Service's. */
bool service_url_name(struct str host, struct str *ret_namespace, struct str *ret_name);

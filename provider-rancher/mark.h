// SPDX-License-Identifier: Apache-2.0
/*
 * Our mark, in the description of what we made or took over in Rancher: whose it is. Names are
 * shortened and ambiguous, externalId cannot be changed on what the original made; the description
 * can, costs no update of the load balancer, and is read by people.
 *
 *   managed by sluice: ingress=default/web
 *   managed by sluice: group=default/shop scale
 *   managed by sluice: service=default/db
 *   managed by sluice: stack=kubernetes-ingress-lbs secret=default/web-tls digest=0123456789abcdef
 *
 * "scale" says that an owner has asked for that scale, so that it goes back to one when that is
 * withdrawn; a scale that somebody chose in Rancher's own interface is left alone. The digest is of
 * chain and key: the key cannot be read back. No I/O.
 */
#pragma once

#include "provider-rancher/naming.h"

struct lb_mark {
	struct identity identity;
	bool has_scale;
};

struct certificate_mark {
	struct str stack;
	struct str namespace;
	struct str secret;
	uint64_t digest;
};

/* In the arena. */
struct str mark_of_lb(const struct lb_mark *mark, struct arena *arena);
struct str mark_of_certificate(const struct certificate_mark *mark, struct arena *arena);
/* false: it is no mark of ours. The texts point into `description`. */
bool mark_read_lb(struct str description, struct lb_mark *ret_mark);
bool mark_read_certificate(struct str description, struct certificate_mark *ret_mark);

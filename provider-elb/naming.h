// SPDX-License-Identifier: Apache-2.0
/*
 * Names and tags: how a resource is found again after a restart, without any memory of our own. No I/O.
 *
 * Names are unique in an account and region, and a create with a known name and equal settings succeeds, so a name holds a hash of all that identifies
 * the resource and of all that cannot be changed in place: a replacement has another name and lives beside what it replaces.
 */
#pragma once

#include "common/arena.h"
#include "provider-elb/resources.h"

/* Keys of tags. All that we make carries TAG_CLUSTER, TAG_LB (but certificates), TAG_RESOURCE and TAG_OWNER from the call that makes it. */
#define TAG_CLUSTER  "sluice.io/cluster"
#define TAG_LB       "sluice.io/lb"       /* id of the load-balancer object */
#define TAG_RESOURCE "sluice.io/resource" /* which of its resources */
#define TAG_OWNER    "sluice.io/owner"    /* "namespace/name", for people */
#define TAG_APPLIED  "sluice.io/applied"  /* digest of what was applied last, or TAG_CHANGING */

/* Value of TAG_APPLIED from before the first write of a change until after its last: what is there then has to be read. */
#define TAG_CHANGING "changing"

enum {
	NAME_LEN_MAX = 32,       /* of load balancers and target groups */
	DIGEST_NAME_LEN = 10,    /* hexadecimal digits, in names */
	DIGEST_APPLIED_LEN = 16, /* in TAG_APPLIED, and in identities of rules */
	TAG_VALUE_LEN_MAX = 256, /* longer ids are replaced by a hash in tags: naming_tag_value() */
};

/* "sl-<namespace, 8>-<name, 8>-<10 hex>": letters, digits and single hyphens, none at the ends. */
struct str naming_balancer(struct arena *arena, struct str cluster, const struct load_balancer *lb,
	enum elb_type type, struct str scheme);
struct str naming_group(struct arena *arena, struct str cluster, const struct load_balancer *lb,
	enum elb_type type, struct str scheme, struct str pool, const struct elb_group *group);

/* Values of TAG_RESOURCE. */
struct str naming_balancer_identity(struct arena *arena, struct str lb, enum elb_type type);
struct str naming_listener_identity(struct arena *arena, struct str lb, uint64_t port);
/* `rule` NULL: the one that ends the host, see wanted.h. */
struct str naming_rule_identity(struct arena *arena, struct str lb, const struct virtual_host *host,
	const struct path_rule *rule);
struct str naming_group_identity(struct arena *arena, struct str lb, struct str pool);
struct str naming_security_group_identity(struct arena *arena, struct str lb, enum elb_type type);
struct str naming_certificate_identity(struct arena *arena, struct str certificate);

/* As a tag may hold it: of letters, digits, spaces and _.:/=+-@, at most 256 bytes; anything else is replaced by a prefix and a SHA-256 of the
 * whole, so that different texts stay different. */
struct str naming_tag_value(struct arena *arena, struct str text);

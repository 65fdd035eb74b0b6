// SPDX-License-Identifier: Apache-2.0
/*
 * Names in Rancher of what belongs to an Ingress, a group or a Service, and which of them could belong to
 * whom.
 *
 * The Go original named a load balancer <namespace>-<separator>-<ingress>, and before that
 * <namespace>-<ingress>. A name in Rancher has at most 63 characters of a-z A-Z 0-9 and '-', no '-'
 * at an end and no two in a row; names of Ingresses are longer and hold dots. So a name is
 *
 *   primary   default-rancherlb-web             when that is a valid name
 *             default-rancherlbgroup-web        of a group
 *             default-rancherlbservice-web      of a Service; the original had none of both
 *   hashed    default-rancherlb-web-1b2c3d4e    when it is not, or when somebody else has it
 *   legacy    default-web                       only looked for, never given
 *
 * and a name alone does not say whose it is ("a-b-c" may be b-c in a, or c in a-b). The true
 * identity stands in the description, see mark.h. No I/O.
 */
#pragma once

#include "common/arena.h"
#include "common/str.h"

#include <stdbool.h>

enum {
	NAMING_LEN_MAX = 63,
	NAMING_HASH_LEN = 8,
	NAMING_SPLITS_MAX = 64,
};

/* Whose load balancer it is. */
enum identity_kind {
	IDENTITY_INGRESS,
	IDENTITY_GROUP,
	IDENTITY_SERVICE, /* of type LoadBalancer */
	IDENTITY_KIND_COUNT,
};

struct identity {
	enum identity_kind kind;
	struct str namespace;
	struct str name;
};

struct lb_name {
	char text[NAMING_LEN_MAX + 1];
};

/* Rancher takes it as the name of a service or a stack. */
bool naming_is_valid(struct str name);

void naming_primary(
	const struct identity *identity, const char *separator, struct lb_name *ret_name);
void naming_hashed(
	const struct identity *identity, const char *separator, struct lb_name *ret_name);
/* false: there is no such name (groups, Services, and names that the original could not make). */
bool naming_legacy(const struct identity *identity, struct lb_name *ret_name);

/* What the original's name <namespace>-<separator>-<name> may stand for: an identity for each place
 * where the separator stands. Returns how many; the texts point into `name`. */
size_t naming_split(
	struct str name, const char *separator, struct identity ret_identities[NAMING_SPLITS_MAX]);
/* Likewise for <namespace>-<name>. */
size_t naming_split_legacy(struct str name, struct identity ret_identities[NAMING_SPLITS_MAX]);

/* "ingress", "group" or "service". */
const char *naming_kind_word(enum identity_kind kind);
/* "ingress default/web", "group default/shop", "service default/db": unique, in the arena. */
struct str naming_text(const struct identity *identity, struct arena *arena);
/* The way back; the texts point into `text`. */
bool naming_parse_text(struct str text, struct identity *ret_identity);

/* The name of a Secret's certificate: <namespace>-<secret>; with a hash when that could also be
 * read otherwise or is too long. */
void naming_certificate(struct str namespace, struct str secret, struct lb_name *ret_name);
/* For when that name is taken. `stack` tells two controllers in one project apart. */
void naming_certificate_hashed(
	struct str stack, struct str namespace, struct str secret, struct lb_name *ret_name);

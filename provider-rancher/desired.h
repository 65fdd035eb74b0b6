// SPDX-License-Identifier: Apache-2.0
/*
 * The load balancer that Rancher should have, out of the objects that the translator wants: a pure function
 * of its arguments. What cannot be had, or not yet, is left out and becomes a notice; one bad part
 * never withholds the others. No I/O.
 */
#pragma once

#include "provider-common/state.h"
#include "provider-rancher/mark.h"
#include "provider-rancher/rules.h"

enum certificate_answer {
	CERTIFICATE_READY,
	CERTIFICATE_STALE,   /* as READY, but with what it held before: it could not be renewed */
	CERTIFICATE_PENDING, /* being stored in Rancher for the first time: wait */
	CERTIFICATE_FAILED,  /* it cannot be stored now */
	CERTIFICATE_ABSENT,  /* nobody knows of it; the translator has told why */
};

struct desired_lookup {
	struct rules_lookup rules;
	/* The certificate's id in Rancher and the digest of what it holds. */
	enum certificate_answer (*certificate)(
		void *ctx, struct str id, struct str *ret_id, uint64_t *ret_digest);
};

struct desired_options {
	const char *separator;
	bool allow_custom_config;
};

struct desired {
	struct identity identity;
	struct lb_spec spec;
	struct lb_notice *notices;
	size_t notice_count;
	struct str *unknown_uids;
	size_t unknown_count;
	bool waits_for_certificates;
};

/* Whose load balancer it is: a group's, a Service's, or an Ingress's. */
struct identity desired_identity(const struct load_balancer *lb);

/* Texts point into the objects or live in the arena. Public for tests only. */
void desired_build(const struct load_balancer *lb, const struct virtual_host *hosts,
	size_t host_count, const struct desired_lookup *lookup,
	const struct desired_options *options, struct arena *arena, struct desired *ret_desired);
/* The same of a load balancer's object and the virtual hosts of it, decoded to the arena. */
void desired_build_object(struct state *state, struct object *object,
	const struct desired_lookup *lookup, const struct desired_options *options,
	struct arena *arena, struct desired *ret_desired);

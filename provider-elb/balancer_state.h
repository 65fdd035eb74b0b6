// SPDX-License-Identifier: Apache-2.0
/*
 * One load-balancer object and its resources: what is known and what it is doing. Only balancer*.c look into it: balancer_wanted.h (what is wanted),
 * balancer_failure.h (what went wrong), balancer_status.h (telling it), balancer.c (one step after the other).
 */
#pragma once

#include "common/backoff.h"
#include "provider-elb/balancer.h"
#include "provider-elb/content_reader.h"
#include "provider-elb/held.h"
#include "provider-elb/target_sync.h"

/* What failed, and when it is tried again. */
struct failure {
	enum aws_outcome outcome; /* AWS_OK: nothing */
	enum plan_step step; /* that it befell; only its success, or a plan without it, ends it */
	char *subject;       /* plan_subject() of it; NULL: it has none */
	bool is_cleanup;     /* everything that is wanted was there already */
	char *text;
	struct backoff backoff;
	double since; /* of the first one in a row, clock_monotonic_s() */
};

/* Calls that were denied, although what they are about may just be gone. */
struct denial {
	double read_at; /* when it was last read because of one; 0: never, or it has made something since */
	uint64_t pass; /* of the inventory, that tells whether it is there; 0: none is awaited */
};

struct balancer {
	const struct balancer_context *context;
	char *lb;              /* value of TAG_LB */
	struct object *object; /* NULL: not wanted any more */
	double remove_from;    /* clock_monotonic_s(); with no object */
	double removal_in_s; /* when the plan was made: seconds until then; not positive: it may be removed, or is wanted */

	/* What is wanted: all of it in `arena`. */
	struct arena arena;
	struct load_balancer decoded;
	struct wanted wanted;
	bool has_wanted;
	char *wanted_digest; /* of all of it but the endpoints; NULL: never worked out */
	/* What was wanted when the call under way was planned, if that has changed since: the plan points into it. */
	struct arena spent;
	bool has_spent;
	size_t left_out;            /* endpoints that found no room */
	struct target_sync **syncs; /* one for each wanted group, in their order */
	size_t sync_count;

	/* What it is doing. */
	struct call call;
	struct content_reader *reader;
	struct plan_network network; /* for the plan */
	struct arena step_arena;
	struct plan plan;   /* that is being carried out, or was made last */
	struct str subject; /* plan_subject() of the step under way; in step_arena */
	uint64_t losses;    /* inventory_losses() when the call was sent */
	ev_timer timer;
	struct failure failure;
	struct held *held;   /* what AWS refuses, and the rest goes on without */
	double failed_since; /* one of its balancers has failed in AWS; 0: none has */
	struct denial denial;
	bool is_backing_off; /* the timer is that of the next try */
	size_t rules_given_up;
	double given_up_at;   /* clock_monotonic_s(), the last one */
	double settled_since; /* 0: it is not */
	bool is_settled;
	bool is_sweep; /* what is in it is read although the tag says that it is as wanted */
};

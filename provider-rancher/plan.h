// SPDX-License-Identifier: Apache-2.0
/*
 * The next step that brings one load balancer nearer to what is wanted: a pure function. Steps are taken one by one, and each is planned from
 * what the answer to the one before has shown, so that nothing depends on the order in which things happen.
 */
#pragma once

#include "provider-rancher/observed.h"

enum plan_step {
	PLAN_NOTHING, /* it is as wanted, or only the server can go on: wait until something is heard */
	PLAN_LATER, /* look again after `delay_s`, or when something is heard before */
	PLAN_CREATE,
	PLAN_READ,   /* GET it: the update needs its present state */
	PLAN_UPDATE, /* PUT `parts` */
	PLAN_ACTIVATE,
	PLAN_REMOVE,
	PLAN_FORGET, /* nothing is wanted, and nothing is there */
};

/* What the inventory has to find before a step can be taken. */
enum plan_need {
	PLAN_NEED_STACK = 1 << 0,
	PLAN_NEED_IMAGE = 1 << 1,
	PLAN_NEED_SERVICES = 1 << 2,
	PLAN_NEED_CERTIFICATES = 1 << 3,
};

struct plan_input {
	const struct lb_facets *wanted; /* NULL: it has to go */
	const struct lb_row *row;       /* NULL: it is not there */
	unsigned missing;               /* of enum plan_need */
	double now;
	double waiting_since; /* since when it waits to be created */
	bool must_read; /* Rancher's state may differ from the row: an answer was lost, or was a conflict */
	bool is_fresh;  /* the row was just read, for this plan */
	bool is_repeat; /* an update may have been stored without being carried out */
	bool is_drift;  /* it was as wanted, and somebody else changed it */
	double drift_since;
	bool drift_is_read; /* and has been read again since */
	bool is_absent;     /* it is wanted that there is none; `wanted` is NULL */
	bool is_leaving;    /* one of which we have no row is on its way out */
	bool is_kept;       /* what is wanted is not known: nothing is touched; `wanted` is NULL */
	bool is_empty;      /* it would serve nothing: not made, but changed if it is there */
};

struct plan {
	enum plan_step step;
	unsigned parts;   /* of enum lb_part, for PLAN_UPDATE */
	unsigned needs;   /* of enum plan_need: find these */
	bool is_recreate; /* PLAN_REMOVE in order to create anew */
	bool is_settled;  /* it is as wanted, as far as we can do anything about it */
	double delay_s;
};

enum {
	/* A Service and its Ingress are often applied together, and Rancher hears of the Service a moment later: a new
	 * load balancer waits so long before it is created without some of its rules. */
	PLAN_SERVICES_WAIT_S = 5,
	/* An update that is stored while another one runs may never be carried out. So changes are held, and
	 * collected, while an update runs; but not for longer than this. Likewise a removal while it is being created, which the
	 * server accepts and then overwrites. */
	PLAN_HOLD_S = 10,
	/* Somebody else has changed it, or the server itself because a Service has gone: what is wanted is likely to change in a moment, too. */
	PLAN_DRIFT_WAIT_S = 2,
};

struct plan plan_next(const struct plan_input *input);

// SPDX-License-Identifier: Apache-2.0
/*
 * One load balancer that is wanted or has to go: what is known of it, and what it is doing. What happens to it stands in
 * balancer_wanted.h (what is wanted), registry.h (which row is its own), balancer_plan.h (what to do next), balancer_send.h and
 * balancer_answer.h (doing it), balancer_status.h (reporting it); balancer_reconcile.h goes through all of these as lb_fsm.def says. Only
 * they and balancers.h look into the struct.
 */
#pragma once

#include "common/backoff.h"
#include "provider-rancher/address_hold.h"
#include "provider-rancher/certs.h"
#include "provider-rancher/desired.h"
#include "provider-rancher/inventory.h"
#include "provider-rancher/lb_fsm.h"
#include "provider-rancher/plan.h"

#include <ev.h>

struct registry;

/* What all load balancers use of other parts. */
struct balancer_context {
	const struct client *client;
	const struct config *options;
	const char *external_id; /* of our stack; those of its load balancers begin with it */
	struct provider *provider;
	struct observed *observed;
	struct services *services;
	struct inventory *inventory;
	struct certs *certs;
	struct address_hold *hold;
	struct registry *registry;
};

/* What failed, and when it is tried again. */
struct failure {
	struct backoff backoff;
	enum api_outcome kind;
	unsigned times; /* in a row */
	char *text;
};

/* The Event of the removal of a load balancer whose Ingress is gone: its owners have to be copied while the object exists. */
struct removal_event {
	struct arena arena;
	struct lb_event event;
};

/* What is needed only while something is to be done: thousands of load balancers are at rest. */
struct work {
	struct balancer *balancer;
	struct queue_entry entry;
	struct lb_facets wanted; /* while has_facets */
	bool has_facets;
	struct api_request *request;
	struct json *fresh;      /* what the last READ of this turn has shown; NULL: none */
	struct plan plan;        /* that is being carried out, or was made last */
	struct failure *failure; /* NULL: none */
	ev_timer timer;          /* of WAITING and BACKOFF */
	double waiting_since;    /* to be created; 0: it does not */
	double drift_since;
	const char
		*tried_name; /* shared text: with which a creation was tried last; NULL: none was */
	struct removal_event *removal_event; /* when the balancer's object is NULL */
};

struct balancer {
	const struct balancer_context *context;
	struct object *object; /* NULL: not wanted any more */
	struct lb_row *row;    /* claimed; NULL: it is not there */
	struct work *work;     /* NULL: it is at rest */
	uint64_t wanted;       /* digest of the facets that are wanted */
	uint64_t routes;
	struct shown shown;
	const char *identity; /* shared text; see naming_text() */
	uint8_t state;        /* enum lb_fsm_state */
	bool has_wanted : 1;  /* `wanted` and `routes` are up to date */
	bool is_settled : 1;  /* the last plan says so */
	bool waits_for_services : 1;
	bool waits_for_certificates : 1;
	bool has_notices : 1;
	bool was_settled : 1; /* it was as wanted when it was looked at last */
	bool is_drift : 1;
	bool drift_is_read : 1;
	bool is_repeat : 1;    /* an update may have been stored without being carried out */
	bool must_read : 1;    /* see plan.h */
	bool is_overtaken : 1; /* an event told of it while a request was under way */
	bool was_lasting : 1;  /* its state, when the request was sent */
	bool is_name_taken : 1;
	bool is_removal_told : 1; /* of the row: the server may lose what it has accepted */
	bool is_listed : 1;       /* in the order of identities */
	bool has_looked : 1;      /* for a row that is its own */
	bool is_changed : 1;      /* by the commit that is being taken */
	/* What the object says when it describes nothing: `wanted` means nothing then. */
	bool is_absent : 1;
	bool is_kept : 1;
	bool is_empty : 1;      /* it has no listeners */
	bool has_duplicate : 1; /* see claims_find_duplicate() */
};

/* Makes one that does nothing yet. */
struct balancer *balancer_new(const struct balancer_context *context, const char *identity);
/* Cancels what is under way, and lets go of the row. */
void balancer_free(struct balancer *balancer);
/* It is wanted (again), as this object says. */
void balancer_attach(struct balancer *balancer, struct object *object);
/* Keeps the owners for the Event of its removal; before the object is gone. */
void balancer_keep_removal_event(struct balancer *balancer, const struct load_balancer *lb);

/* ---- its work ---- */

/* What it is doing: made when it was at rest. */
struct work *balancer_work(struct balancer *balancer);
/* Of enum plan_need: what the last plan waits for. */
unsigned balancer_needs(const struct balancer *balancer);
/* Gives up its turn, or its place in the queue. */
void balancer_end_turn(struct balancer *balancer);
/* It is as wanted: what failed before is over. */
void balancer_recover(struct balancer *balancer);
/* Frees the work if none of it is needed. */
void balancer_rest(struct balancer *balancer);

/* ---- its row ---- */

void balancer_claim(struct balancer *balancer, struct lb_row *row);
/* Its row was seen, with these changes: takes the addresses. Plans nothing. */
void balancer_on_row_seen(struct balancer *balancer, unsigned changes);
/* It does not exist in Rancher any more: releases the row, and frees it. */
void balancer_on_row_gone(struct balancer *balancer);
/* Its status may have changed: the translator will get it. */
void balancer_tell(struct balancer *balancer);

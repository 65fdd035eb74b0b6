// SPDX-License-Identifier: Apache-2.0
/*
 * Certificates in ACM: one for each Secret that a load balancer uses, found again by its tags, imported when it is wanted, replaced in place
 * when it is renewed, removed when nothing has used it for a while. Only what has our cluster's tag is changed or removed.
 *
 * A load balancer refers to a certificate by its ARN, which stays when the content is replaced; where ACM does not replace it (another kind of
 * key) there is a new ARN, on_change() is called, and the old copy goes when no listener uses it any more.
 *
 * Takes the user pointers of the state's certificates.
 */
#pragma once

#include "provider-common/state.h"
#include "provider-elb/call_queue.h"
#include "provider-elb/client.h"
#include "provider-elb/settings.h"

struct certs;

/* Keeps all pointers. */
struct certs_config {
	struct ev_loop *loop;
	struct client *client;
	struct call_queue *queue;
	struct state *state;
	const struct settings *settings; /* `cluster` and `default_certificate` */
	double remove_delay_s; /* how long nothing must have used a certificate before it is removed: an import counts against a yearly quota */
	/* certs_arn() or certs_problem() has another answer for this object than before; from the loop, or from a call of certs_on_commit(). It must not
	 * call back into what changes certificates. */
	void (*on_change)(void *ctx, struct str id);
	void (*on_known)(void *ctx); /* certs_are_known() has become true, from the loop */
	void *ctx;
};

/* cert_setup() was called. */
struct certs *certs_new(const struct certs_config *config);
void certs_free(struct certs *certs);

/* All changes of a commit, also those of load balancers, which use certificates. Call it before what asks certs_arn(). */
void certs_on_commit(struct certs *certs, const struct state_commit *commit);

/* A certificate with our cluster's tag, from the tagging API: values of TAG_RESOURCE and TAG_APPLIED, which may be absent. Then the end of the
 * list; ACM's own list follows, because the tagging API is late to tell what is new and what is gone. May be repeated at any time. */
void certs_take_row(struct certs *certs, struct str arn, struct str identity, struct str applied);
void certs_listed(struct certs *certs);
/* Another replica may have written until now: nothing is written before the next certs_listed(). */
void certs_take_over(struct certs *certs);

/* What ACM has was listed once: what certs_arn() does not know is not there. */
bool certs_are_known(const struct certs *certs);
/* For wanted.h: the ARN of an object's certificate, valid until something changes. Absent: it is being imported, or, *ret_is_refused, it will not
 * be until something changes: certs_problem() says why. A certificate that cannot be renewed keeps being answered. */
struct str certs_arn(const struct certs *certs, struct str id, bool *ret_is_refused);
/* For the notice, to follow "certificate namespace/name"; NULL: all is well. Valid until something changes. */
const char *certs_problem(const struct certs *certs, struct str id);
